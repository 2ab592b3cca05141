// What a server can take: the rate at which its queue grows without bound, and the largest load that meets targets.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/serving_queue.hpp"

namespace roofline::core {

/// Returns the requests per second of a server that always has requests waiting: from this rate on the queue of an open
/// loop grows without bound. It is the inverse of the mean time that a request takes of the server: its prompt, and its
/// share of the iterations that decode it. As many sequences are decoded at a time as the cache holds, or, if that is
/// fewer, as the prompts of each iteration keep up with. `requests` are a sample of the load, at least one.
[[nodiscard]] double saturation_rate(const std::vector<RequestTokens>& requests, const ServerLimits& limits,
                                     const ServingCosts& costs);

/// Returns the number of sequences that a server holds whose cache is always full; unlimited, max_requests.
[[nodiscard]] double sequences_in_cache(const std::vector<RequestTokens>& requests, const ServerLimits& limits);

/// Returns whether the 99th percentiles of the times meet the targets, as MLPerf Inference judges servers.
[[nodiscard]] bool meets(const ServingTimes& times, const ServingTargets& targets);

/// Returns an open loop of `count` requests at a rate. If `count` is 0 there are 10,000 requests, or if that is more,
/// ten per request in flight, up to max_simulated_requests. The rate must be below saturation_rate().
[[nodiscard]] ServingRun simulate_rate(const RequestLengths& lengths, double rate, std::int64_t count,
                                       const ServerLimits& limits, const ServingCosts& costs);

/// Returns a closed loop of `count` requests, or if that is 0, of ten per unit of concurrency.
[[nodiscard]] ServingRun simulate_concurrency(const RequestLengths& lengths, std::int64_t concurrency,
                                              std::int64_t count, const ServerLimits& limits,
                                              const ServingCosts& costs);

/// Returns the largest rate that meets the targets, to half a per cent, by bisection; empty if not even a thousandth of
/// the saturation rate does.
[[nodiscard]] std::optional<double> largest_rate(const RequestLengths& lengths, std::int64_t count,
                                                 const ServingTargets& targets, const ServerLimits& limits,
                                                 const ServingCosts& costs);

/// Returns the largest concurrency up to `most` that meets the targets, by bisection; empty if not even one request at
/// a time does.
[[nodiscard]] std::optional<std::int64_t> largest_concurrency(const RequestLengths& lengths, std::int64_t count,
                                                              const ServingTargets& targets, std::int64_t most,
                                                              const ServerLimits& limits, const ServingCosts& costs);

}  // namespace roofline::core
