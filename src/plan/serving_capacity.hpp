// What a server can take: the rate at which its queue grows without bound, and the largest load that meets targets.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/serving_queue.hpp"

namespace roofline::core {

/// Returns the requests per second of servers that always have requests waiting: from this rate on the queue of an open
/// loop grows without bound. For a server it is the inverse of the mean time that a request takes of it: its prompt,
/// and its share of the iterations that decode it. As many sequences are decoded at a time as the cache holds, or, if
/// that is fewer, as the prompts of each iteration keep up with. Of two pools the slower one counts. `requests` are a
/// sample of the load, at least one.
[[nodiscard]] double saturation_rate(const std::vector<RequestTokens>& requests, const ServingPools& pools);

/// The same of the servers that process prompts, without their decoding, and of those that decode.
struct PoolRates {
    double prompts = 0;  ///< requests per second
    double decode = 0;   ///< infinite if no request has a token after the first
};
[[nodiscard]] PoolRates pool_rates(const std::vector<RequestTokens>& requests, const ServingPools& pools);

/// Returns the number of sequences that servers hold whose caches are always full; unlimited, max_requests.
[[nodiscard]] double sequences_in_cache(const std::vector<RequestTokens>& requests, const ServingPools& pools);

/// Returns whether the 99th percentiles of the times meet the targets, as MLPerf Inference judges servers.
[[nodiscard]] bool meets(const ServingTimes& times, const ServingTargets& targets);

/// Returns an open loop of `count` requests at a rate. If `count` is 0 there are 10,000 requests, or if that is more,
/// ten per request in flight, up to max_simulated_requests. The rate must be below saturation_rate().
[[nodiscard]] ServingRun simulate_rate(const RequestLengths& lengths, double rate, std::int64_t count,
                                       const ServingPools& pools);

/// Returns a closed loop of `count` requests, or if that is 0, of ten per unit of concurrency.
[[nodiscard]] ServingRun simulate_concurrency(const RequestLengths& lengths, std::int64_t concurrency,
                                              std::int64_t count, const ServingPools& pools);

/// Returns a rate that meets the targets where one half a per cent larger does not, by bisection; empty if not even a
/// thousandth of the saturation rate does. It is the largest such rate as far as percentiles rise with the rate.
/// Arrivals are random: with 10,000 requests the 99th percentile of the time to first token fluctuates by 0.2 %, which,
/// at rates so low that few requests wait, is what it rises by over some per cent of the rate.
[[nodiscard]] std::optional<double> largest_rate(const RequestLengths& lengths, std::int64_t count,
                                                 const ServingTargets& targets, const ServingPools& pools);

/// Returns the largest concurrency up to `most` that meets the targets, by bisection; empty if not even one request at
/// a time does.
[[nodiscard]] std::optional<std::int64_t> largest_concurrency(const RequestLengths& lengths, std::int64_t count,
                                                              const ServingTargets& targets, std::int64_t most,
                                                              const ServingPools& pools);

}  // namespace roofline::core
