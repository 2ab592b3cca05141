#include "predict/serve/simulated_load.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plan/serving_capacity.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t sample_size = 10'000;
constexpr std::int64_t max_chunks = 1000;

std::vector<RequestTokens> sample_of(const LoadQuestion& load) {
    const auto listed = static_cast<std::int64_t>(load.lengths.listed.size());
    return draw_requests(load.lengths, std::max({sample_size, load.requests, listed}));
}

Status check_length(const RequestTokens& request, std::size_t number, std::int64_t limit, std::string_view what,
                    const char* remedy) {
    const std::int64_t tokens = request.prompt + request.output;
    if (limit == 0 || tokens <= limit) return {};
    return fail("bad_request",
                fmt::format("request {} has {} prompt and {} output tokens, {} in all: more than {} {}", number,
                            request.prompt, request.output, tokens, what, limit),
                remedy);
}

// The limits of the servers that hold all tokens of a request.
const ServerLimits& decode_limits(const ServingPools& pools) {
    return pools.decode ? pools.decode->limits : pools.prompts.limits;
}

tl::unexpected<Error> overload(const LoadQuestion& load, const ServingPools& pools, double saturation) {
    const std::string rate = number_text(load.rate);
    if (!pools.decode) {
        return fail("overload",
                    fmt::format("{} requests/s are more than this server can take: its queue grows without bound from "
                                "{} requests/s on",
                                rate, number_text(saturation)),
                    "give a lower rate or more chips; a closed loop has a server that is always busy");
    }
    const PoolRates rates = pool_rates(sample_of(load), pools);
    return fail(
        "overload",
        fmt::format("{} requests/s are more than these pools can take: the queue for prefill grows without bound "
                    "from {} requests/s on, that for decode from {}",
                    rate, number_text(rates.prompts), number_text(rates.decode)),
        fmt::format("give a lower rate, or more workers that {}", rates.prompts < rates.decode ? "prefill" : "decode"));
}

void find_largest(SimulatedLoad& answer, const ServingPools& pools) {
    const LoadQuestion& load = answer.load;
    if (load.rate > 0) {
        answer.largest = largest_rate(load.lengths, load.requests, load.targets, pools).value_or(0);
        return;
    }
    const auto most = static_cast<std::int64_t>(sequences_in_cache(sample_of(load), pools));
    const auto found = largest_concurrency(load.lengths, load.requests, load.targets, most, pools);
    answer.largest = static_cast<double>(found.value_or(0));
    answer.largest_fills_cache = decode_limits(pools).cache_tokens > 0 && found == most;
}

}  // namespace

Status check_requests(const LoadQuestion& load, const ServingPools& pools, std::int64_t context) {
    const ServerLimits& limits = pools.prompts.limits;
    const std::int64_t room = decode_limits(pools).cache_tokens;
    const std::vector<RequestTokens> requests = sample_of(load);
    const bool stated = !load.lengths.listed.empty() || load.lengths.prompt.kind != LengthDistribution::Kind::even ||
                        load.lengths.output.kind != LengthDistribution::Kind::even;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (requests[i].prompt > max_chunks * limits.prompt_tokens) {
            return fail("bad_request",
                        fmt::format("request {} has {} prompt tokens, which are more than {} chunks of {}", i + 1,
                                    requests[i].prompt, max_chunks, limits.prompt_tokens),
                        "use larger chunks");
        }
        if (!stated) continue;
        ROOFLINE_CHECK(check_length(requests[i], i + 1, context, "the model's context of",
                                    "shorten the lengths, or change the context in the configuration"));
        ROOFLINE_CHECK(check_length(requests[i], i + 1, room, "the tokens whose caches fit,",
                                    "shorten the lengths, or give more chips or a smaller dtype of the KV cache"));
    }
    return {};
}

Result<SimulatedLoad> simulated_load(const LoadQuestion& load, const ServingPools& pools) {
    SimulatedLoad answer;
    answer.load = load;
    answer.saturation_per_s = saturation_rate(sample_of(load), pools);
    if (load.rate >= answer.saturation_per_s) return overload(load, pools, answer.saturation_per_s);
    const ServingRun run = load.rate > 0 ? simulate_rate(load.lengths, load.rate, load.requests, pools)
                                         : simulate_concurrency(load.lengths, load.concurrency, load.requests, pools);
    answer.requests = static_cast<std::int64_t>(run.requests.size());
    answer.times = serving_times(run);
    if (load.targets.any()) {
        answer.met = met_fraction(run, load.targets);
        find_largest(answer, pools);
    }
    return answer;
}

}  // namespace roofline::core
