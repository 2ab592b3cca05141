#include "plan/serving_capacity.hpp"

#include <algorithm>
#include <cmath>

namespace roofline::core {

namespace {

constexpr std::int64_t least_open_requests = 10'000;
constexpr std::int64_t requests_per_concurrency = 10;

/// Means over requests.
struct MeanRequest {
    double computed = 0;      ///< prompt tokens that are not cached
    double prompt_s = 0;      ///< time to compute them
    double decoded = 0;       ///< tokens after the first
    double contexts = 0;      ///< the sum over these of the context, in tokens
    double cache = 0;         ///< tokens in the cache
    double cache_tokens = 0;  ///< tokens in the cache, times those decoded meanwhile
};

const ServerPool& decoding(const ServingPools& pools) { return pools.decode ? *pools.decode : pools.prompts; }

// `prompts` are the servers that process them, null if no times are needed; `decode` those that hold all tokens.
MeanRequest mean_request(const std::vector<RequestTokens>& requests, const ServingCosts* prompts,
                         const ServerLimits& decode) {
    MeanRequest mean;
    for (const RequestTokens& request : requests) {
        const auto prompt = static_cast<double>(request.prompt);
        const auto cached = static_cast<double>(request.cached);
        const auto output = static_cast<double>(request.output);
        const double decoded = output - 1;
        mean.computed += prompt - cached;
        if (prompts != nullptr) mean.prompt_s += prompts->prompt_s(prompt) - prompts->prompt_s(cached);
        mean.decoded += decoded;
        mean.contexts += decoded * (prompt + output / 2);
        const auto held = static_cast<double>(decode.held(request.prompt + request.output));
        mean.cache += held;
        mean.cache_tokens += held * decoded;
    }
    for (double* part :
         {&mean.computed, &mean.prompt_s, &mean.decoded, &mean.contexts, &mean.cache, &mean.cache_tokens}) {
        *part /= static_cast<double>(requests.size());
    }
    return mean;
}

// Sequences that one server holds. A request occupies its cache for as long as it is decoded, so that longer ones are
// there more often.
double sequences_in_cache(const MeanRequest& mean, const ServerLimits& limits) {
    auto sequences = static_cast<double>(max_requests);
    if (limits.cache_tokens > 0) {
        const double each = mean.decoded > 0 ? mean.cache_tokens / mean.decoded : mean.cache;
        sequences = std::min(sequences, static_cast<double>(limits.cache_tokens) / each);
    }
    if (limits.sequences > 0) sequences = std::min(sequences, static_cast<double>(limits.sequences));
    return std::max(1.0, sequences);
}

// Seconds of one server that processes prompts on all of its members.
double prompt_seconds(const MeanRequest& mean, const ServerPool& pool) {
    const auto members = static_cast<double>(std::max<std::int64_t>(1, pool.limits.members));
    const double tokens = static_cast<double>(pool.limits.prompt_tokens) * members;
    return std::max(mean.prompt_s / members, pool.costs.least_prompts_s * mean.computed / tokens);
}

double decode_seconds(const MeanRequest& mean, const ServerPool& pool, double sequences) {
    if (!(mean.decoded > 0)) return 0;
    const DecodeCost cost = pool.costs.decode(sequences);
    return mean.decoded * cost.fixed_s / sequences + mean.contexts * cost.context_s;
}

double servers(const ServerPool& pool) { return static_cast<double>(pool.servers); }

PoolRates rates_of(const MeanRequest& mean, const ServingPools& pools) {
    const ServerPool& decode = decoding(pools);
    return {servers(pools.prompts) / prompt_seconds(mean, pools.prompts),
            servers(decode) / decode_seconds(mean, decode, sequences_in_cache(mean, decode.limits))};
}

}  // namespace

double sequences_in_cache(const std::vector<RequestTokens>& requests, const ServingPools& pools) {
    const ServerPool& pool = decoding(pools);
    const double each = sequences_in_cache(mean_request(requests, nullptr, pool.limits), pool.limits);
    return std::min(static_cast<double>(max_requests), servers(pool) * each);
}

PoolRates pool_rates(const std::vector<RequestTokens>& requests, const ServingPools& pools) {
    return rates_of(mean_request(requests, &pools.prompts.costs, decoding(pools).limits), pools);
}

double saturation_rate(const std::vector<RequestTokens>& requests, const ServingPools& pools) {
    const MeanRequest mean = mean_request(requests, &pools.prompts.costs, decoding(pools).limits);
    if (pools.decode) {
        const PoolRates rates = rates_of(mean, pools);
        return std::min(rates.prompts, rates.decode);
    }
    const ServerPool& pool = pools.prompts;
    double sequences = sequences_in_cache(mean, pool.limits);
    if (pool.limits.schedule == PromptSchedule::mixed) {
        const auto tokens =
            static_cast<double>(pool.limits.prompt_tokens * std::max<std::int64_t>(1, pool.limits.members));
        sequences = std::clamp(mean.decoded * tokens / mean.computed, 1.0, sequences);
    }
    return servers(pool) / (prompt_seconds(mean, pool) + decode_seconds(mean, pool, sequences));
}

bool meets(const ServingTimes& times, const ServingTargets& targets) {
    return targets.met_by(times.ttft.p99, times.tpot.p99);
}

ServingRun simulate_rate(const RequestLengths& lengths, double rate, std::int64_t count, const ServingPools& pools) {
    std::int64_t requests = count > 0 ? count : least_open_requests;
    while (true) {
        ServingRun run = simulate_serving({draw_requests(lengths, requests), rate, 1}, pools);
        // Little's law
        const double in_flight = rate * serving_times(run).latency.mean;
        const double wanted =
            std::min(in_flight * requests_per_concurrency, static_cast<double>(max_simulated_requests));
        // the number in flight changes a little with the number simulated
        constexpr double slack = 1.1;
        if (count > 0 || wanted <= slack * static_cast<double>(requests)) return run;
        requests = static_cast<std::int64_t>(wanted);
    }
}

ServingRun simulate_concurrency(const RequestLengths& lengths, std::int64_t concurrency, std::int64_t count,
                                const ServingPools& pools) {
    const std::int64_t requests = count > 0 ? count : concurrency * requests_per_concurrency;
    return simulate_serving({draw_requests(lengths, requests), 0, concurrency}, pools);
}

std::optional<double> largest_rate(const RequestLengths& lengths, std::int64_t count, const ServingTargets& targets,
                                   const ServingPools& pools) {
    constexpr double accuracy = 0.005;
    constexpr double least = 0.001;
    const double saturation = saturation_rate(draw_requests(lengths, least_open_requests), pools);
    const auto met = [&](double rate) {
        return meets(serving_times(simulate_rate(lengths, rate, count, pools)), targets);
    };
    double low = saturation * least;
    if (!met(low)) return std::nullopt;
    double high = saturation;
    while (high - low > accuracy * low) {
        const double middle = (low + high) / 2;
        (met(middle) ? low : high) = middle;
    }
    return low;
}

std::optional<std::int64_t> largest_concurrency(const RequestLengths& lengths, std::int64_t count,
                                                const ServingTargets& targets, std::int64_t most,
                                                const ServingPools& pools) {
    const auto met = [&](std::int64_t concurrency) {
        return meets(serving_times(simulate_concurrency(lengths, concurrency, count, pools)), targets);
    };
    if (!met(1)) return std::nullopt;
    std::int64_t low = 1;
    std::int64_t high = 2;
    while (high <= most && met(high)) {
        low = high;
        high *= 2;
    }
    high = std::min(high, most + 1);
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (met(middle) ? low : high) = middle;
    }
    return low;
}

}  // namespace roofline::core
