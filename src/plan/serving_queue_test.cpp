#include "plan/serving_queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/approx_test.hpp"

using namespace roofline::core;

namespace {

// An iteration takes 1 s and 0.1 s more per sequence, a prompt 10 s per 100 tokens.
const ServingCosts costs{[](double sequences) { return DecodeCost{1 + 0.1 * sequences, 0}; },
                         [](double tokens) { return tokens / 10; }, 0};

// One prompt of 100 tokens at a time.
const ServerLimits one_prompt{.prompt_tokens = 100};

ServingLoad closed(std::int64_t concurrency, std::int64_t rounds, RequestTokens request) {
    return {std::vector<RequestTokens>(static_cast<std::size_t>(concurrency * rounds), request), 0, concurrency};
}

ServingTimes times_of(const ServingLoad& load, const ServerLimits& limits = one_prompt,
                      const ServingCosts& by = costs) {
    return serving_times(simulate_serving(load, {{limits, by}}));
}

}  // namespace

TEST_CASE("one request at a time: its prompt, then an iteration for each further token") {
    const ServingTimes times = times_of(closed(1, 3, {100, 5}));
    CHECK(times.all_ttft_s == approx(10));
    CHECK(times.ttft.mean == approx(10));
    CHECK(times.tpot.mean == approx(1.1));
    CHECK(times.itl.p99 == approx(1.1));
    CHECK(times.latency.p50 == approx(14.4));
    CHECK(times.requests_per_s == approx(1 / 14.4));
    CHECK(times.tokens_per_s == approx(5 / 14.4));
    CHECK(times.running == approx(4.4 / 14.4));
}

TEST_CASE("two at once: the second waits for the first, whose tokens wait for the second's prompt") {
    // 0 to 10: the prompt of a; to 21.1: that of b with the second token of a; to 22.3: the second token of b, the
    // third and last of a; to 23.4: the last of b.
    const ServingTimes times = times_of(closed(2, 1, {100, 3}));
    CHECK(times.ttft.mean == approx((10 + 21.1) / 2));
    CHECK(times.all_ttft_s == times.ttft.mean);
    CHECK(times.tpot.mean == approx((22.3 - 10 + 23.4 - 21.1) / 4));
    CHECK(times.itl.mean == approx((11.1 + 1.2 + 1.2 + 1.1) / 4));
    CHECK(times.itl.p50 == approx(1.2));
    CHECK(times.itl.p90 == approx(11.1));
    CHECK(times.requests_per_s == approx(2 / 23.4));
}

TEST_CASE("prefill first: nothing is decoded beside prompts") {
    // 0 to 10 and 10 to 20: the prompts; to 21.2 and to 22.4: two tokens of both. The gaps of a are 11.2 and 1.2 s.
    const ServerLimits first{.prompt_tokens = 100, .schedule = PromptSchedule::prefill_first};
    const ServingTimes times = times_of(closed(2, 1, {100, 3}), first);
    CHECK(times.ttft.mean == approx(15));
    CHECK(times.tpot.mean == approx((12.4 + 2.4) / 4));
    CHECK(times.itl.mean == approx(times.tpot.mean));
    CHECK(times.itl.p90 == approx(11.2));
    CHECK(times.latency.mean == approx(22.4));
}

TEST_CASE("an answered request is followed by the next, which is admitted at once") {
    // As above to 22.3, where c arrives; its prompt and the last token of b take 11.1, to 33.4; d arrives then: its
    // prompt and the second token of c, to 44.5; the last of c and the second of d, to 45.7; the last of d, to 46.8.
    const ServingTimes times = times_of(closed(2, 2, {100, 3}));
    CHECK(times.all_ttft_s == approx((10 + 21.1 + 11.1 + 11.1) / 4));
    CHECK(times.ttft.mean == approx(11.1));
    CHECK(times.tpot.mean == approx((12.3 + 12.3 + 12.3 + 2.3) / 8));
    CHECK(times.latency.mean == approx((45.7 - 22.3 + 46.8 - 33.4) / 2));
}

TEST_CASE("prompts are processed together if an iteration allows it") {
    // 20 s for both prompts, then two iterations of 1.2 s.
    const ServingTimes times = times_of(closed(2, 1, {100, 3}), {.prompt_tokens = 200});
    CHECK(times.ttft.mean == approx(20));
    CHECK(times.tpot.mean == approx(1.2));
}

TEST_CASE("a long prompt is processed in chunks, between which other requests get tokens") {
    // a: 10 s in two iterations. b: two iterations of 5 s beside the second and third token of a, 1.1 s each, to 22.2;
    // then b alone, twice.
    const ServingTimes times = times_of(closed(2, 1, {100, 3}), {.prompt_tokens = 50});
    CHECK(times.ttft.mean == approx((10 + 22.2) / 2));
    CHECK(times.tpot.mean == approx((12.2 + 2.2) / 4));
}

TEST_CASE("an iteration is filled with a part of the next prompt") {
    // 150 tokens: the prompt of a and half of b's in 15 s, the other half beside a token of a in 6.1 s.
    const ServingTimes times = times_of(closed(2, 1, {100, 3}), {.prompt_tokens = 150});
    CHECK(times.ttft.mean == approx((15 + 21.1) / 2));
}

TEST_CASE("a chunk takes the difference of two prompts, and an iteration with prompts takes its least") {
    const ServingCosts squared{costs.decode, [](double tokens) { return tokens * tokens / 1000; }, 3};
    // 50 tokens take 2.5 s, so 3, and the other 50 take 10 - 2.5
    CHECK(times_of(closed(1, 2, {100, 1}), {.prompt_tokens = 50}, squared).ttft.mean == approx(3 + 7.5));
    // all but 20 tokens are cached: 10 s - 6.4 s
    CHECK(times_of(closed(1, 2, {100, 1, 80}), one_prompt, squared).ttft.mean == approx(3.6));
}

TEST_CASE("decoding takes longer with the context, cached or not") {
    // iterations at contexts of 101 to 104 tokens, 0.01 s each
    const ServingCosts by_context{[](double) { return DecodeCost{1, 0.01}; }, costs.prompt_s, 0};
    const ServingTimes times = times_of(closed(1, 2, {100, 5, 99}), one_prompt, by_context);
    CHECK(times.tpot.mean == approx(1 + 0.01 * 102.5));
    CHECK(times.itl.mean == approx(1 + 0.01 * 102.5));
    CHECK(times.itl.p99 == approx(2.04).epsilon(0.003));
    CHECK(times.ttft.mean == approx(0.1));
}

TEST_CASE("a request whose cache does not fit waits until another one finishes") {
    // One after the other: 10 + 2 * 1.1 each. Two need 206 tokens.
    for (const ServerLimits& limits :
         {ServerLimits{.cache_tokens = 205, .prompt_tokens = 100}, ServerLimits{.sequences = 1, .prompt_tokens = 100},
          ServerLimits{.cache_tokens = 1, .prompt_tokens = 100}}) {
        const ServingTimes times = times_of(closed(2, 1, {100, 3}), limits);
        CHECK(times.ttft.mean == approx((10 + 22.2) / 2));
        CHECK(times.tpot.mean == approx(1.1));
        CHECK(times.running == approx(4.4 / 24.4));
    }
    CHECK(times_of(closed(2, 1, {100, 3}), {.cache_tokens = 206, .prompt_tokens = 100}).tpot.mean > 1.2);
}

TEST_CASE("prefill makes the only token, and there is nothing to decode") {
    const ServingTimes times = times_of(closed(3, 2, {100, 1}));
    CHECK(times.tpot.mean == 0);
    CHECK(times.itl.mean == 0);
    CHECK(times.running == 0);
    CHECK(times.requests_per_s == approx(0.1));
}

TEST_CASE("the simulation takes no time for tokens that are decoded") {
    const ServingTimes times = times_of(closed(100, 100, {1, max_request_tokens}));
    CHECK(times.tpot.mean > 1);
}

TEST_CASE("requests of one prompt each that arrive at random wait as in an M/D/1 queue") {
    // Pollaczek and Khinchine: rho / (2 (1 - rho)) service times, which are 10 s here
    for (const double busy : {0.2, 0.5, 0.8}) {
        ServingLoad load{std::vector<RequestTokens>(400'000, RequestTokens{100, 1}), busy / 10};
        const ServingTimes times = times_of(load, {.sequences = 1, .prompt_tokens = 100});
        CHECK(times.ttft.mean == approx(10 + 10 * busy / (2 * (1 - busy))).epsilon(0.015));
        CHECK(times.requests_per_s == approx(busy / 10).epsilon(0.01));
        CHECK(times.ttft.mean == approx(times.all_ttft_s));
    }
}

TEST_CASE("an arrival is noticed after the iteration in progress") {
    // a is alone until b arrives; prompts take no time, and b's is processed in the iteration of 1 s after its arrival
    const ServingCosts even{[](double) { return DecodeCost{1, 0}; }, [](double) { return 0.0; }, 0};
    const ServingRun run = simulate_serving({std::vector<RequestTokens>(2, RequestTokens{1, 1000}), 0.1}, {{{}, even}});
    const double first = run.requests[0].first_token_s;
    CHECK(first == run.requests[0].arrival_s);
    const double since = run.requests[1].first_token_s - first;
    CHECK(run.requests[1].arrival_s < run.requests[1].first_token_s);
    CHECK(run.requests[1].ttft_s() > 1);
    CHECK(run.requests[1].ttft_s() < 2);
    CHECK(since == approx(1 + std::ceil(run.requests[1].arrival_s - first)));
    CHECK(run.requests[1].end_s - run.requests[1].first_token_s == approx(999));
}

TEST_CASE("a growing iteration ends after an arrival, and not an iteration later") {
    const ServingCosts growing{[](double) { return DecodeCost{0, 0.001}; }, [](double) { return 0.0; }, 0};
    for (const double rate : {0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0}) {
        const ServingRun run =
            simulate_serving({std::vector<RequestTokens>(2, RequestTokens{1, 3000}), rate}, {{{}, growing}});
        // the arrival is noticed at the end of the first iteration after it, found one by one
        double now = run.requests[0].first_token_s;
        double context = 2;
        for (; now < run.requests[1].arrival_s; ++context) now += 0.001 * context;
        REQUIRE(context < 3000);
        CHECK(run.requests[1].first_token_s == approx(now + 0.001 * context));
    }
}

TEST_CASE("no request is lost, and each keeps the order of its times") {
    RequestLengths lengths;
    lengths.prompt = {LengthDistribution::Kind::lognormal, 300, 0, 1};
    lengths.output = {LengthDistribution::Kind::uniform, 0, 0, 0, 1, 40};
    for (const double rate : {0.0, 0.01, 0.03}) {
        for (const PromptSchedule schedule : {PromptSchedule::mixed, PromptSchedule::prefill_first}) {
            const ServingLoad load{draw_requests(lengths, 3000), rate, 16};
            const ServingRun run =
                simulate_serving(load, {{{.cache_tokens = 5000, .prompt_tokens = 512, .schedule = schedule}, costs}});
            REQUIRE(run.requests.size() == 3000);
            double tokens = 0;
            double work = 0;
            for (std::size_t i = 0; i < run.requests.size(); ++i) {
                const RequestTimes& request = run.requests[i];
                CHECK(request.output == load.requests[i].output);
                CHECK(request.ttft_s() > 0);
                CHECK(request.end_s >= request.first_token_s);
                if (i > 0) CHECK(request.first_token_s >= run.requests[i - 1].first_token_s);
                tokens += static_cast<double>(request.output - 1);
                work += static_cast<double>(load.requests[i].prompt) / 10;
            }
            CHECK(run.gaps.count() == tokens);
            // each gap is counted: their sum is that of the decoding times
            CHECK(run.gaps.spread().mean * tokens == approx(run.decoded_s));
            CHECK(run.seconds > work);
            CHECK(run == simulate_serving(
                             load, {{{.cache_tokens = 5000, .prompt_tokens = 512, .schedule = schedule}, costs}}));
        }
    }
}

TEST_CASE("time and requests agree with Little's law") {
    const ServingTimes times = times_of(closed(50, 10, {100, 200}), {.prompt_tokens = 400});
    CHECK(times.running == approx(times.requests_per_s * 199 * times.tpot.mean));
    CHECK(times.running < 50);
    // in flight: 50 of a closed loop, but for its end
    const ServingTimes longer = times_of(closed(50, 400, {100, 200}), {.prompt_tokens = 400});
    CHECK(longer.requests_per_s * longer.latency.mean == approx(50).epsilon(0.01));
}

TEST_CASE("one pool of prefill and one of decode: the second token waits for nobody's prompt") {
    // Prompts of a and b: 0 to 10 and 10 to 20, each sent in 2 s. a is decoded from 12 alone, 1.1 s a token; at 22 b
    // arrives, whose first token is sent after the iteration in progress, at 23; then both take 1.2 s.
    ServingPools pools{{one_prompt, costs}, ServerPool{{}, costs}, [](double tokens) { return tokens / 50; }};
    ServingRun run = simulate_serving(closed(2, 1, {100, 12}), pools);
    CHECK(run.requests[0].first_token_s == approx(12));
    CHECK(run.requests[1].first_token_s == approx(23));
    // a: 10 tokens alone to 23, the eleventh with b to 24.2; b: one to 24.2, ten alone
    CHECK(run.requests[0].end_s == approx(24.2));
    CHECK(run.requests[1].end_s == approx(24.2 + 11));
    CHECK(run.gaps.count() == 22);
    CHECK(run.gaps.spread().mean == approx(((24.2 - 12) + (35.2 - 23)) / 22));
    CHECK(run.decoded_s == approx(12.2 + 12.2));
    // with a server for each prompt both are there at 12, and decoded together
    pools.prompts.servers = 2;
    run = simulate_serving(closed(2, 1, {100, 12}), pools);
    for (const RequestTimes& times : run.requests) {
        CHECK(times.first_token_s == approx(12));
        CHECK(times.end_s == approx(12 + 11 * 1.2));
    }
    // and with two servers that decode, apart
    pools.decode->servers = 2;
    run = simulate_serving(closed(2, 1, {100, 12}), pools);
    for (const RequestTimes& times : run.requests) CHECK(times.end_s == approx(12 + 11 * 1.1));
}

TEST_CASE("a decode pool without room keeps requests waiting for their first token") {
    const ServingPools pools{{{.prompt_tokens = 200}, costs}, ServerPool{{.cache_tokens = 103}, costs}, {}};
    const ServingRun run = simulate_serving(closed(2, 1, {100, 3}), pools);
    CHECK(run.requests[0].first_token_s == approx(20));
    CHECK(run.requests[1].first_token_s == approx(22.2));
    CHECK(run.requests[0].end_s == approx(22.2));
    CHECK(run.requests[1].end_s == approx(24.4));
    // a single token needs no decode
    CHECK(serving_times(simulate_serving(closed(2, 1, {100, 1}), pools)).latency.mean == approx(20));
}

TEST_CASE("members process prompts side by side, a lone prompt faster than if all have one") {
    ServingCosts members = costs;
    members.lone_prompt_s = [](double tokens) { return tokens / 25; };  // 4 s per 100 tokens, 10 s if all have some
    const ServerLimits three{.prompt_tokens = 100, .members = 3};
    CHECK(times_of(closed(1, 2, {100, 1}), three, members).ttft.mean == approx(4));
    CHECK(times_of(closed(2, 1, {100, 1}), three, members).ttft.mean == approx(7));
    CHECK(times_of(closed(3, 1, {100, 1}), three, members).ttft.mean == approx(10));
    CHECK(times_of(closed(4, 1, {100, 1}), three, members).ttft.mean == approx((3 * 10 + 14) / 4.0));
    // short prompts fill members evenly: two of 50 tokens each, for which all take 10 s
    CHECK(times_of(closed(6, 1, {50, 1}), three, members).ttft.mean == approx(10));
    // a long prompt stays with its member: two iterations of 4 s
    CHECK(times_of(closed(1, 2, {200, 1}), three, members).ttft.mean == approx(8));
}

TEST_CASE("a server that decodes looks at a request only after its wait") {
    ServingCosts waiting = costs;
    waiting.wait = 3;
    // a is admitted at once: its prompt to 10. b waits for this iteration and two of a, to 12.2; then its prompt takes
    // 11.1 s beside a token of a.
    const ServingTimes times = times_of(closed(2, 1, {100, 10}), one_prompt, waiting);
    CHECK(times.ttft.mean == approx((10 + 23.3) / 2));
    // a ends with its last token before the wait of b does
    CHECK(times_of(closed(2, 1, {100, 3}), one_prompt, waiting).ttft.mean == approx((10 + 12.2 + 10) / 2));
    // nobody waits for an idle server
    CHECK(times_of(closed(1, 5, {100, 3}), one_prompt, waiting).ttft.mean == approx(10));
    // an arrival during iterations: three more pass after the one in progress
    const ServingCosts even{[](double) { return DecodeCost{1, 0}; }, [](double) { return 0.0; }, 0, 3};
    const ServingRun run = simulate_serving({std::vector<RequestTokens>(2, RequestTokens{1, 1000}), 0.1}, {{{}, even}});
    const double first = run.requests[0].first_token_s;
    CHECK(run.requests[1].first_token_s - first == approx(4 + std::ceil(run.requests[1].arrival_s - first)));
    // with pools it is the server that decodes which waits
    ServingPools pools{{one_prompt, waiting}, ServerPool{{}, waiting}, {}};
    const ServingRun apart = simulate_serving(closed(2, 1, {100, 20}), pools);
    CHECK(apart.requests[0].first_token_s == approx(10));
    // b comes at 20, in the tenth iteration of a, which ends at 21
    CHECK(apart.requests[1].first_token_s == approx(21 + 3.3));
}

TEST_CASE("a request holds whole blocks of the cache") {
    // two requests of 105 tokens fit in 210, but not in blocks of 16: they hold 112 each
    ServerLimits limits{.cache_tokens = 210, .prompt_tokens = 100};
    const ServingLoad two = closed(2, 3, {100, 5});
    CHECK(times_of(two, limits).requests_per_s > 1 / 14.4);
    limits.block_tokens = 16;
    CHECK(times_of(two, limits).requests_per_s == approx(1 / 14.4));
    limits.cache_tokens = 224;
    CHECK(times_of(two, limits).requests_per_s > 1 / 14.4);
}
