// Converts the options of `roofline train` to a typed question, and answers it.
#pragma once

#include "app/request.hpp"
#include "predict/train/train.hpp"

namespace roofline::core {

/// Returns the question about the request's first machine without its plan: one chip, no micro-batches and no schedule.
/// Errors: those of train_question() that do not concern the plan.
[[nodiscard]] Result<TrainQuestion> train_job(const TrainRequest& request);

/// Returns the question about the request's first machine, with the plan of `mesh`, or FSDP over all chips. Errors:
/// invalid options; sizes, plans and options that do not match. Each error names the option.
[[nodiscard]] Result<TrainQuestion> train_question(const TrainRequest& request);

}  // namespace roofline::core
