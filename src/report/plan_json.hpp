// A parallelism plan as answers print it.
#pragma once

#include "plan/plan.hpp"
#include "report/figure.hpp"

namespace roofline::core {

/// Returns the degrees of a plan's axes by name, and `experts_over_tensor`.
[[nodiscard]] FigureValue plan_json(const Plan& plan);

}  // namespace roofline::core
