// A question about a server under load.
#pragma once

#include <cstdint>

#include "plan/request_lengths.hpp"
#include "plan/serving_metrics.hpp"
#include "plan/serving_queue.hpp"

namespace roofline::core {

/// The load that a server is simulated under.
struct LoadQuestion {
    double rate = 0;               ///< open loop: requests per second; 0: closed loop
    std::int64_t concurrency = 1;  ///< closed loop: requests in flight
    /// Lengths of requests. Their means are `prompt` and `output` of the question that this is part of.
    RequestLengths lengths;
    std::int64_t requests = 0;  ///< number of requests to simulate; 0: see simulate_rate() and simulate_concurrency()
    PromptSchedule schedule = PromptSchedule::mixed;
    ServingTargets targets{};  ///< if any is given, goodput and the largest load that meets them are determined
};

/// Figures of a simulated server.
struct SimulatedLoad {
    LoadQuestion load;
    std::int64_t requests = 0;  ///< number of requests that were simulated
    ServingTimes times;
    double saturation_per_s = 0;  ///< rate from which on the queue of an open loop grows without bound
    double met = 0;               ///< fraction of requests that meet the targets
    /// The largest load of which the 99th percentiles meet the targets: a rate in an open loop, otherwise a
    /// concurrency; 0 if none does.
    double largest = 0;
    bool largest_fills_cache = false;  ///< the largest concurrency is the one whose caches still fit

    /// Requests per second that meet the targets.
    [[nodiscard]] double goodput_per_s() const { return met * times.requests_per_s; }
};

}  // namespace roofline::core
