// Converts the options of `roofline plan` to a typed question, and answers it.
#pragma once

#include <memory>

#include "app/request.hpp"
#include "predict/plan/plan.hpp"

namespace roofline::core {

/// Returns the question for the best plan of a job. Errors: those of train_job(); degrees that are no number of the
/// slice's chips; a choice that is fixed and left out; a part that is none.
[[nodiscard]] Result<PlanQuestion> plan_question(const PlanRequest& request);

/// Returns the calibrations that the request names. Errors: those of calibration files.
[[nodiscard]] Result<std::shared_ptr<Calibrations>> plan_calibrations(const PlanRequest& request);

}  // namespace roofline::core
