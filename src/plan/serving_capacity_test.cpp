#include "plan/serving_capacity.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "base/approx_test.hpp"

using namespace roofline::core;

namespace {

// An iteration takes 1 s and 0.1 s more per sequence, and 1 ms per token of context; a prompt 0.1 s per token.
const ServingCosts by_context{[](double sequences) { return DecodeCost{1 + 0.1 * sequences, 0.001}; },
                              [](double tokens) { return tokens / 10; }, 0};

RequestLengths equal(double prompt, double output) {
    RequestLengths lengths;
    lengths.prompt.mean = prompt;
    lengths.output.mean = output;
    return lengths;
}

double saturation_of(const RequestLengths& lengths, const ServerLimits& limits) {
    return saturation_rate(draw_requests(lengths, 10), {{limits, by_context}});
}

/// Requests per second of a server that always has requests waiting.
double simulated_saturation(const RequestLengths& lengths, const ServerLimits& limits) {
    return serving_times(simulate_concurrency(lengths, 300, 30'000, {{limits, by_context}})).requests_per_s;
}

}  // namespace

TEST_CASE("one request at a time saturates at the inverse of its service time") {
    CHECK(saturation_of(equal(100, 1), {}) == approx(0.1));
    // 10 s, then 4 iterations of 1.1 s and a millisecond for each of 101 to 104 tokens
    CHECK(saturation_of(equal(100, 5), {.sequences = 1}) == approx(1 / (10 + 4.4 + 0.410)));
    CHECK(saturation_of(equal(100, 5), {.cache_tokens = 105}) == approx(1 / (10 + 4.4 + 0.410)));
    // 20 tokens of the prompt are computed
    RequestLengths cached = equal(100, 1);
    cached.cached.share = 0.8;
    CHECK(saturation_of(cached, {}) == approx(0.5));
    // an iteration of 10 tokens takes at least 3 s
    const ServingCosts slow{by_context.decode, by_context.prompt_s, 3};
    CHECK(saturation_rate(draw_requests(equal(100, 1), 1), {{{.prompt_tokens = 10}, slow}}) == approx(1.0 / 30));
}

TEST_CASE("a cache holds more of those requests that take longer") {
    // 6 tokens for 4 iterations and 22 tokens for 20 of them: (4 6 + 20 22) / 24 tokens on average over time
    const std::vector<RequestTokens> unequal{{1, 5}, {1, 21}};
    CHECK(sequences_in_cache(unequal, {{{.cache_tokens = 116}, {}}}) == approx(6));
    CHECK(sequences_in_cache(unequal, {{{.cache_tokens = 116, .sequences = 3}, {}}}) == 3);
    CHECK(sequences_in_cache(unequal, {{{.cache_tokens = 1}, {}}}) == 1);
    CHECK(sequences_in_cache(unequal, {{{}, {}}}) == static_cast<double>(max_requests));
    CHECK(sequences_in_cache({{1, 1}, {3, 1}}, {{{.cache_tokens = 12}, {}}}) == approx(4));
}

TEST_CASE("saturation is what a simulated server does that always has requests waiting") {
    RequestLengths mixed;
    mixed.prompt = {LengthDistribution::Kind::uniform, 0, 0, 0, 1, 40};
    mixed.output = {LengthDistribution::Kind::uniform, 0, 0, 0, 100, 300};
    for (const RequestLengths& lengths : {equal(20, 200), mixed}) {
        for (const ServerLimits& limits :
             {ServerLimits{.cache_tokens = 5000}, ServerLimits{.sequences = 64},
              ServerLimits{.cache_tokens = 5000, .schedule = PromptSchedule::prefill_first},
              ServerLimits{.prompt_tokens = 4}}) {
            CHECK(saturation_of(lengths, limits) > 0);
            CHECK(saturation_rate(draw_requests(lengths, 10'000), {{limits, by_context}}) ==
                  approx(simulated_saturation(lengths, limits)).epsilon(0.04));
        }
    }
}

TEST_CASE("just below saturation requests are answered as they come, and above the queue grows") {
    const ServerLimits limits{.cache_tokens = 5000};
    const RequestLengths lengths = equal(20, 200);
    const double most = saturation_of(lengths, limits);
    const auto waited = [&](double rate, std::int64_t count) {
        return serving_times(simulate_rate(lengths, rate, count, {{limits, by_context}})).ttft.mean;
    };
    CHECK(waited(0.85 * most, 40'000) == approx(waited(0.85 * most, 20'000)).epsilon(0.2));
    CHECK(waited(1.15 * most, 40'000) > 1.7 * waited(1.15 * most, 20'000));
}

TEST_CASE("an open loop has enough requests for those in flight") {
    CHECK(simulate_rate(equal(1, 1), 0.01, 0, {{{}, by_context}}).requests.size() == 10'000);
    CHECK(simulate_rate(equal(1, 1), 0.01, 17, {{{}, by_context}}).requests.size() == 17);
    // an iteration takes 1 s whatever it does, a request 10,000 of them, so 5000 are in flight
    const ServingCosts free{[](double) { return DecodeCost{1, 0}; }, [](double) { return 0.0; }, 0};
    const ServingRun many = simulate_rate(equal(1, 10'001), 0.5, 0, {{{}, free}});
    CHECK(many.requests.size() > 49'000);
    CHECK(many.requests.size() < 52'000);
    CHECK(simulate_concurrency(equal(1, 1), 7, 0, {{{}, by_context}}).requests.size() == 70);
}

TEST_CASE("the largest concurrency is the last one that meets the target") {
    // n sequences that were all admitted take 1 + 0.1 n seconds a token: at most 2 s up to 10
    const ServingCosts plain{[](double sequences) { return DecodeCost{1 + 0.1 * sequences, 0}; },
                             [](double) { return 0.0; }, 0};
    const RequestLengths lengths = equal(1, 100);
    CHECK(largest_concurrency(lengths, 0, {{}, 2.0001}, 1000, {{{}, plain}}) == 10);
    CHECK(largest_concurrency(lengths, 0, {{}, 1.1001}, 1000, {{{}, plain}}) == 1);
    CHECK(largest_concurrency(lengths, 0, {{}, 1.09}, 1000, {{{}, plain}}) == std::nullopt);
    CHECK(largest_concurrency(lengths, 0, {{}, 1e9}, 77, {{{}, plain}}) == 77);
}

TEST_CASE("the largest rate keeps the 99th percentile of the wait in an M/D/1 queue") {
    // The tail of the waiting time in an M/D/1 queue is that of the exact distribution of Erlang (1909):
    // P(W <= t) = (1 - rho) sum over k from 0 to floor(t) of (rho (k - t))^k / k! exp(rho (t - k)), t in service times.
    const auto waits_up_to = [](double rho, double t) {
        double sum = 0;
        double factorial = 1;
        for (int k = 0; k <= static_cast<int>(t); ++k) {
            if (k > 0) factorial *= k;
            sum += std::pow(rho * (k - t), k) / factorial * std::exp(rho * (t - k));
        }
        return (1 - rho) * sum;
    };
    // find the rho at which 99 % wait at most 4 service times
    double low = 0.1;
    double high = 0.95;
    for (int i = 0; i < 50; ++i) {
        const double middle = (low + high) / 2;
        (waits_up_to(middle, 4) >= 0.99 ? low : high) = middle;
    }
    // a prompt takes 10 s, and waits up to 40 s
    const auto rate =
        largest_rate(equal(100, 1), 200'000, {50, {}}, {{{.sequences = 1, .prompt_tokens = 100}, by_context}});
    REQUIRE(rate);
    CHECK(*rate == approx(low / 10).epsilon(0.015));
    CHECK(largest_rate(equal(100, 1), 1000, {9.99, {}}, {{{}, by_context}}) == std::nullopt);
}

TEST_CASE(
    "of two pools the one that takes fewer requests limits, and a pool takes more with more servers and members") {
    // a prompt takes 10 s; 99 iterations of a lone sequence 1.1 s each, and 1 ms for each of 101 to 199 tokens
    const std::vector<RequestTokens> requests = draw_requests(equal(100, 100), 1);
    ServingPools pools{{{}, by_context, 2}, ServerPool{{.sequences = 1}, by_context, 3}, {}};
    const PoolRates rates = pool_rates(requests, pools);
    CHECK(rates.prompts == approx(2.0 / 10));
    CHECK(rates.decode == approx(3 / (99 * (1.1 + 0.150))));
    CHECK(saturation_rate(requests, pools) == rates.decode);
    pools.decode->limits.sequences = 100;
    CHECK(saturation_rate(requests, pools) == approx(3 / (99 * (0.11 + 0.150))));
    pools.prompts.servers = 1;
    CHECK(saturation_rate(requests, pools) == approx(0.1));
    pools.prompts.limits.members = 4;
    CHECK(pool_rates(requests, pools).prompts == approx(0.4));
    CHECK(sequences_in_cache(requests, pools) == approx(300));
    for (const std::int64_t members : {1, 4}) {
        pools.prompts.limits.members = members;
        pools.prompts.costs.lone_prompt_s = by_context.prompt_s;
        pools.decode->limits.sequences = 30;
        const double simulated =
            serving_times(simulate_concurrency(equal(100, 100), 300, 10'000, pools)).requests_per_s;
        CHECK(saturation_rate(requests, pools) == approx(simulated).epsilon(0.05));
    }
}

TEST_CASE("a cache of blocks holds fewer requests") {
    const std::vector<RequestTokens> requests(3, {100, 5});
    ServerLimits limits{.cache_tokens = 1120};
    CHECK(sequences_in_cache(requests, {{limits, by_context}}) == approx(1120.0 / 105));
    limits.block_tokens = 16;
    CHECK(sequences_in_cache(requests, {{limits, by_context}}) == approx(10));
}
