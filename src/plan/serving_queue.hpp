// Continuous batching: requests wait, have their prompts processed and are decoded together, simulated event by event.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plan/request_lengths.hpp"
#include "plan/serving_metrics.hpp"

namespace roofline::core {

/// The requests that a server gets.
struct ServingLoad {
    std::vector<RequestTokens> requests;  ///< in order of arrival; at least one
    /// Open loop: requests per second, with exponentially distributed times between them (a Poisson process) from a
    /// fixed seed. 0: closed loop.
    double rate = 0;
    /// Closed loop: requests in flight. So many arrive at the beginning, and each is followed by the next as soon as it
    /// is answered. At least 1.
    std::int64_t concurrency = 1;
};

/// Which work an iteration does.
enum class PromptSchedule {
    mixed,         ///< prompts beside decode tokens (chunked prefill of vLLM, SGLang and TensorRT-LLM)
    prefill_first  ///< while prompts are processed nothing is decoded
};

/// What a server can take at a time.
struct ServerLimits {
    std::int64_t cache_tokens = 0;  ///< tokens of prompts and outputs whose caches fit; 0: no limit
    std::int64_t sequences = 0;     ///< requests that are processed at a time; 0: no limit
    /// Tokens of prompts that an iteration processes, beside those of decoding; at least 1. The default of vLLM
    /// (max_num_batched_tokens), SGLang (chunked_prefill_size) and TensorRT-LLM (max_num_tokens).
    std::int64_t prompt_tokens = 8192;
    PromptSchedule schedule = PromptSchedule::mixed;
};

/// The time of an iteration that decodes one token for each of some sequences.
struct DecodeCost {
    double fixed_s = 0;
    double context_s = 0;  ///< added for each token of context of each sequence

    [[nodiscard]] double seconds(double contexts) const { return fixed_s + context_s * contexts; }
};

/// The times of a server's iterations, in seconds. Those of prompts and of decoding are added.
struct ServingCosts {
    std::function<DecodeCost(double sequences)> decode;
    /// Of the first so many tokens of a prompt, 0 for none of them. A chunk takes the difference of two such times.
    std::function<double(double tokens)> prompt_s;
    double least_prompts_s = 0;  ///< the least that prompts add to an iteration
};

/// The maximum number of requests in flight and of simulated requests.
inline constexpr std::int64_t max_requests = 100'000;
inline constexpr std::int64_t max_simulated_requests = 1'000'000;

/// Simulates the schedule of vLLM, SGLang and TensorRT-LLM. The request that has waited longest is admitted first, as
/// soon as there is room for the cache of its prompt and its output; one that never fits is processed alone. An
/// iteration takes prompts in order of arrival up to its number of tokens, the last of them in part. Arrivals are
/// noticed between iterations. The simulation is deterministic. It takes time n log n in the number of requests and of
/// their chunks, regardless of the tokens that are decoded.
[[nodiscard]] ServingRun simulate_serving(const ServingLoad& load, const ServerLimits& limits,
                                          const ServingCosts& costs);

}  // namespace roofline::core
