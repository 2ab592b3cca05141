// Continuous batching: requests wait, have their prompts processed and are decoded together, simulated event by event.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "calibrate/server/server_memory.hpp"
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
    std::int64_t block_tokens = 1;  ///< tokens per block of the cache: a request holds whole blocks; at least 1
    std::int64_t sequences = 0;     ///< requests that are processed at a time; 0: no limit
    /// Tokens of prompts that a member processes in an iteration, beside those of decoding; at least 1. The default of
    /// vLLM (max_num_batched_tokens), SGLang (chunked_prefill_size) and TensorRT-LLM (max_num_tokens).
    std::int64_t prompt_tokens = 8192;
    /// Members of data parallelism, which process different prompts side by side; at least 1.
    std::int64_t members = 1;
    PromptSchedule schedule = PromptSchedule::mixed;

    /// Returns the tokens of cache that a request of so many tokens holds.
    [[nodiscard]] std::int64_t held(std::int64_t tokens) const { return in_blocks(tokens, block_tokens); }
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
    /// Of the first so many tokens of a prompt, 0 for none of them, while every member processes such a prompt. A chunk
    /// takes the difference of two such times.
    std::function<double(double tokens)> prompt_s;
    double least_prompts_s = 0;  ///< the least that prompts add to an iteration
    /// Iterations of a server that decodes which pass before it looks at a request that has arrived meanwhile.
    std::int64_t wait = 0;
    /// The same as `prompt_s` while the other members have no prompts; not needed for a server of one member.
    std::function<double(double tokens)> lone_prompt_s{};
};

/// Equal servers. A request goes to the one that has the fewest.
struct ServerPool {
    ServerLimits limits;
    ServingCosts costs;
    std::int64_t servers = 1;  ///< at least 1
};

/// The servers that answer a load.
struct ServingPools {
    ServerPool prompts;  ///< process prompts, and decode them unless there is `decode`
    /// Disaggregated serving: servers that decode the prompts that others processed. Only their cache is limited by all
    /// tokens of a request, that of `prompts` by those of its prompt.
    std::optional<ServerPool> decode{};
    /// The time by which the transfer of the cache of so many tokens, to a server that decodes, delays the request.
    /// Transfers do not wait for each other.
    std::function<double(double tokens)> transfer_s{};
};

/// The maximum number of requests in flight, of simulated requests and of simulated servers.
inline constexpr std::int64_t max_requests = 100'000;
inline constexpr std::int64_t max_simulated_requests = 1'000'000;
inline constexpr std::int64_t max_servers = 1'000;

/// Simulates the schedule of vLLM, SGLang and TensorRT-LLM. Each server admits the request that has waited longest
/// first, after its wait, as soon as there is room for the cache of its prompt and its output; one that never fits is
/// processed alone. An iteration takes prompts in order of arrival up to its number of tokens, the last of them in
/// part; a new one goes to the member that has the fewest tokens in this iteration. Arrivals are noticed between
/// iterations. With disaggregation the server that decodes sends the first token, when it has admitted the request
/// after the transfer of its cache. The simulation is deterministic. It takes time n log n in the number of requests
/// and of their chunks, times the logarithm of the number of servers, regardless of the tokens that are decoded.
[[nodiscard]] ServingRun simulate_serving(const ServingLoad& load, const ServingPools& pools);

}  // namespace roofline::core
