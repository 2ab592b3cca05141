// How many deployments of a set-up are side by side.
#pragma once

#include <cstdint>
#include <memory>

#include "predict/serve_plan/serving_search.hpp"

namespace roofline::core {

/// Returns how many of a set-up there are on the chips of the search, at least 1.
[[nodiscard]] std::int64_t deployments_of(const ServingSearch& search, const ServingSetUp& set_up);

/// Finds the fewest deployments of the best set-up whose part of the rate, which arrives at random, meets the targets.
/// That they answer as many requests in a closed loop is necessary, but the queues of an open one are longer. Sets the
/// replicas, their rates and whether the targets are met. Errors: those of predict_serving() if no number is predicted.
[[nodiscard]] Status carry_rate(const ServingSearch& search, const ServeQuestion& job,
                                const std::shared_ptr<Calibrations>& calibrations, ServingSearchAnswer& answered);

}  // namespace roofline::core
