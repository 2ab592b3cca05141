// Converts the options of `roofline plan` to a typed question, and answers it.
#pragma once

#include "app/request.hpp"
#include "predict/plan/plan.hpp"

namespace roofline::core {

/// Returns the question for the best plan of a job. Errors: those of train_job(); degrees that are no number of the
/// slice's chips; a choice that is fixed and left out.
[[nodiscard]] Result<PlanQuestion> plan_question(const PlanRequest& request);

/// Answers the request's question. Errors: those of plan_question(), of calibration files, and of predict_plans().
[[nodiscard]] Result<PlanAnswer> plan_answer_of(const PlanRequest& request);

}  // namespace roofline::core
