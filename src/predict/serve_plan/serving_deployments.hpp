// The number of deployments of a set-up side by side.
#pragma once

#include <cstdint>
#include <memory>

#include "predict/serve_plan/serving_search.hpp"

namespace roofline::core {

/// Returns how many deployments of a set-up the chips of the search hold, at least 1.
[[nodiscard]] std::int64_t deployments_of(const ServingSearch& search, const ServingSetUp& set_up);

/// Finds the fewest deployments of the best set-up that meet the targets if the requests of the rate arrive at random.
/// Their rate in a closed loop has to be as high, but the queues of an open loop are longer. Sets the
/// replicas, their rates and whether the targets are met. Errors: those of predict_serving() if no number is predicted.
[[nodiscard]] Status carry_rate(const ServingSearch& search, const ServeQuestion& job,
                                const std::shared_ptr<Calibrations>& calibrations, ServingSearchAnswer& answered);

}  // namespace roofline::core
