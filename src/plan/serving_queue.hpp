// Continuous batching: requests wait, have their prompts processed and are decoded together, simulated event by event.
#pragma once

#include <cstdint>
#include <functional>

namespace roofline::core {

/// A server under constant concurrency (closed loop): each request is followed by the next as soon as it is answered.
/// All arrive at once in the beginning.
struct ServingLoad {
    std::int64_t requests = 1;  ///< concurrency, at least 1
    std::int64_t output = 1;    ///< tokens generated per request, at least 1; prefill makes the first one
    std::int64_t room = 0;      ///< sequences whose caches fit; 0: no limit
    std::int64_t together = 1;  ///< the maximum number of prompts that one iteration processes
    std::int64_t chunks = 1;    ///< iterations that a prompt is divided into, if it is longer than an iteration allows
    std::int64_t rounds = 10;   ///< requests per unit of concurrency; at least 1
    /// The spread of output lengths: they are evenly distributed between this fraction less and this fraction more than
    /// `output`, in irregular order. Equal requests would end together and wait for each other for ever.
    double spread = 0;
};

/// The times of a server's iterations, in seconds.
struct ServingCosts {
    std::function<double(double)>
        iteration_s;                          ///< of an iteration that decodes one token for each of so many sequences
    std::function<double(double)> prompts_s;  ///< added by so many prompts to the iterations that process them
};

struct ServingTimes {
    double ttft_s = 0;  ///< time to first token, waiting included: the mean over all requests
    double later_ttft_s =
        0;  ///< the same for requests that arrive later than the beginning; that of all requests if rounds is 1
    double tpot_s = 0;   ///< mean time per output token after the first; 0 if there is only one
    double running = 0;  ///< decoded sequences at a time, on average over time
    double requests_per_s = 0;

    bool operator==(const ServingTimes&) const = default;
};

/// The maximum number of requests that are simulated at a time.
inline constexpr std::int64_t max_requests = 100'000;

/// Simulates the schedule of vLLM, SGLang and TensorRT-LLM: the request that has waited longest is admitted first, as
/// soon as its cache fits. An iteration makes one token for every running sequence and also processes prompts, or a
/// chunk of one; the times are added. The simulation is deterministic. It takes time n log n in the number of requests,
/// regardless of their tokens.
[[nodiscard]] ServingTimes serving_times(const ServingLoad& load, const ServingCosts& costs);

}  // namespace roofline::core
