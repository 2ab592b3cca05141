// The JSON of `roofline plan serve` (docs/reference/json.md).
#pragma once

#include <string>
#include <vector>

#include "report/serve_plan/serving_plan_report.hpp"

namespace roofline::core {

/// Returns the answer of one search, or {"schema":1, "machines":[...], "errors":[...]} for several.
[[nodiscard]] std::string serving_plan_json(const std::vector<ServingPlanReport>& reports,
                                            const std::vector<Error>& errors);

}  // namespace roofline::core
