// Continuous batching: requests that wait, take their prompts in and are decoded together, event by event.
#pragma once

#include <cstdint>
#include <functional>

namespace roofline::core {

/// A server under constant load: so many requests are there at a time, each followed by the next as soon as it is answered. All
/// come at once in the beginning.
struct ServingLoad {
    std::int64_t requests = 1;  ///< at a time, at least 1
    std::int64_t output = 1;    ///< tokens that each gets, at least 1; the first comes of its prompt
    std::int64_t room = 0;      ///< sequences whose caches fit; 0: no limit
    std::int64_t together = 1;  ///< prompts that one step takes in at the most
    std::int64_t chunks = 1;    ///< steps that a prompt is cut into, where it is longer than a step takes in
    std::int64_t rounds = 10;   ///< requests in the place of each of those at a time; at least 1
    /// By how much outputs differ: they lie evenly between this share less and this share more than `output`, one after another in
    /// no order. Requests that are all alike would end together and wait for each other ever after.
    double spread = 0;
};

/// What a server's steps cost, in seconds.
struct ServingCosts {
    std::function<double(double)> step_s;     ///< that makes a token of each of so many sequences
    std::function<double(double)> prompts_s;  ///< what so many prompts add to the steps that take them in
};

struct ServingTimes {
    double ttft_s = 0;  ///< to the first token, waiting included: the mean of all requests
    double later_ttft_s =
        0;               ///< of those that do not come in the beginning, with all others; that of all where rounds is 1
    double tpot_s = 0;   ///< from one token of a sequence to the next, the mean; 0 where there is one only
    double running = 0;  ///< sequences that are decoded at a time, on average over time
    double requests_per_s = 0;

    bool operator==(const ServingTimes&) const = default;
};

/// The most that are simulated at a time.
inline constexpr std::int64_t most_requests = 100'000;

/// Plays the schedule of vLLM, SGLang and TensorRT-LLM: whoever waits longest goes in first, as soon as there is room. A step makes
/// a token of every running sequence, and takes prompts, or a chunk of one, in besides; the times add up. Deterministic.
/// Takes time n log n in the number of requests, however many tokens they get.
[[nodiscard]] ServingTimes serving_times(const ServingLoad& load, const ServingCosts& costs);

}  // namespace roofline::core
