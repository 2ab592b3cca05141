// The picture of a front: the plans that no other one beats in two objectives, beside the best plans of all jobs.
#pragma once

#include <string>

#include "predict/plan/plan_jobs.hpp"

namespace roofline::core {

/// Returns the front as SVG. The answer must be to a question for one.
[[nodiscard]] std::string front_picture(const PlanJobsAnswer& answer);

}  // namespace roofline::core
