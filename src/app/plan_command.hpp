// The command that prices a plan which a search found.
#pragma once

#include <string>
#include <vector>

#include "app/request.hpp"
#include "predict/train/train_answer.hpp"

namespace roofline::core {

/// Returns the command that answers with a plan alone: "roofline train MODEL" and then each option with its value,
/// quoted for a shell. It has those options of the job, which has one machine, batch, dtype and optimizer, that the
/// time, memory and cost of a plan depend on.
[[nodiscard]] std::vector<std::string> plan_command(const TrainRequest& asked, const TrainAnswer& plan);

/// Returns the request for a plan alone that was found for it.
[[nodiscard]] TrainRequest with_plan(TrainRequest job, const TrainAnswer& plan);

}  // namespace roofline::core
