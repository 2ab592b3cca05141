// Answers a question about a server under load by simulation.
#pragma once

#include "base/result.hpp"
#include "plan/serving_queue.hpp"
#include "predict/serve/load_question.hpp"

namespace roofline::core {

/// Returns an error if a request of the load is longer than the model's context or than the room for caches, both in
/// tokens and 0 if there is no limit, or if its prompt has more chunks than are simulated. Outputs that vary around a
/// given length are not checked.
[[nodiscard]] Status check_requests(const LoadQuestion& load, const ServingPools& pools, std::int64_t context);

/// Simulates the load. Error: `overload` if an open loop's rate is not below the saturation rate, which the message
/// states.
[[nodiscard]] Result<SimulatedLoad> simulated_load(const LoadQuestion& load, const ServingPools& pools);

}  // namespace roofline::core
