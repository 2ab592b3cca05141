// Converts the options of `roofline plan serve` to a typed question.
#pragma once

#include <string>
#include <vector>

#include "app/request.hpp"
#include "predict/serve_plan/serving_search.hpp"

namespace roofline::core {

/// Returns a request for each slice of a request, whose chips are those of --chips where a machine has no slice.
/// Errors: no machine; no chips; chips that cannot be wired.
[[nodiscard]] Result<std::vector<ServePlanRequest>> serving_plan_jobs(const ServePlanRequest& request);

/// Returns the search on the request's first machine. Errors: those of serve_question(); unknown objectives,
/// percentiles, dtypes and axes; a target of a percentile that is none; chips without a rate, or a rate without them.
[[nodiscard]] Result<ServingSearch> serving_plan_question(const ServePlanRequest& request);

/// Returns the request of `roofline serve` that answers with the best set-up of a search alone.
[[nodiscard]] ServeRequest with_best(const ServePlanRequest& request, const ServingSearch& search,
                                     const ServingSearchAnswer& answer);

}  // namespace roofline::core
