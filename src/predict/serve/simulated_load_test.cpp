#include "predict/serve/simulated_load.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"

using namespace roofline::core;

namespace {

// A prompt of 100 tokens takes a second, an iteration 10 ms.
const ServingCosts hundred_per_s{[](double) { return DecodeCost{0.01, 0}; }, [](double tokens) { return tokens / 100; },
                                 0};

LoadQuestion equal_requests(double rate) {
    LoadQuestion load;
    load.rate = rate;
    load.lengths.prompt.mean = 100;
    return load;
}

}  // namespace

TEST_CASE("a rate from which on the queue grows is refused, and the message says which one") {
    const ServerLimits one{.sequences = 1};
    const auto refused = simulated_load(equal_requests(1.5), {{one, hundred_per_s}});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == "overload");
    CHECK(refused.error().message.find("from 1 requests/s on") != std::string::npos);
    CHECK_FALSE(simulated_load(equal_requests(1), {{one, hundred_per_s}}));
    const auto taken = simulated_load(equal_requests(0.9), {{one, hundred_per_s}});
    REQUIRE(taken);
    CHECK(taken->saturation_per_s == approx(1));
    CHECK(taken->largest == 0);
}

TEST_CASE("of two pools the message says what each takes, and which to enlarge") {
    // prompts take a second, and ten iterations of one sequence 0.1 s
    LoadQuestion load = equal_requests(2);
    load.lengths.output.mean = 11;
    ServingPools pools{{{}, hundred_per_s}, ServerPool{{.sequences = 1}, hundred_per_s}, {}};
    const auto refused = simulated_load(load, pools);
    REQUIRE_FALSE(refused);
    CHECK(
        refused.error().message ==
        "2 requests/s are more than these pools can take: the queue for prefill grows without bound from 1 requests/s "
        "on, that for decode from 10");
    CHECK(refused.error().hint == "give a lower rate, or more workers that prefill");
    pools.prompts.servers = 20;
    CHECK(simulated_load(load, pools));
    load.rate = 15;
    CHECK(simulated_load(load, pools).error().hint == "give a lower rate, or more workers that decode");
}

TEST_CASE("goodput is the part of the throughput that meets the targets") {
    LoadQuestion load = equal_requests(0);
    load.concurrency = 4;
    // a request waits for three others and then takes a second: all wait 4 s
    load.targets.ttft_s = 3.9;
    const ServerLimits one{.sequences = 1};
    auto answer = simulated_load(load, {{one, hundred_per_s}});
    REQUIRE(answer);
    CHECK(answer->requests == 40);
    CHECK(answer->met == 0);
    CHECK(answer->goodput_per_s() == 0);
    CHECK(answer->largest == 1);  // all sequences that fit
    CHECK_FALSE(answer->largest_fills_cache);
    load.targets.ttft_s = 4.1;
    answer = simulated_load(load, {{one, hundred_per_s}});
    CHECK(answer->met == 1);
    CHECK(answer->goodput_per_s() == approx(1));
    const auto room = simulated_load(load, {{{.cache_tokens = 202}, hundred_per_s}});
    CHECK(room->largest == 2);
    CHECK(room->largest_fills_cache);
    load.targets = {{}, 0.1};
    load.lengths.output.mean = 11;
    load.targets.ttft_s = 0.5;
    CHECK(simulated_load(load, {{one, hundred_per_s}})->largest == 0);
}

TEST_CASE("requests longer than the context, than the room or than 1000 chunks are refused by number") {
    LoadQuestion load = equal_requests(0);
    load.lengths.listed = {{100, 20}, {1000, 300}};
    CHECK(check_requests(load, {{{.cache_tokens = 1300}, {}}}, 1300));
    const auto context = check_requests(load, {{{}, {}}}, 1299);
    REQUIRE_FALSE(context);
    CHECK(context.error().message ==
          "request 2 has 1000 prompt and 300 output tokens, 1300 in all: more than the model's context of 1299");
    const auto room = check_requests(load, {{{.cache_tokens = 1299}, {}}}, 0);
    REQUIRE_FALSE(room);
    CHECK(room.error().message.find("more than the tokens whose caches fit, 1299") != std::string::npos);
    CHECK_FALSE(room.error().hint.empty());
    CHECK(check_requests(load, {{{.prompt_tokens = 1}, {}}}, 0));
    load.lengths.listed[0].prompt = 1001;
    CHECK(
        check_requests(load, {{{.prompt_tokens = 1}, {}}}, 0).error().message.starts_with("request 1 has 1001 prompt"));
    load.lengths = {};
    load.lengths.prompt = {LengthDistribution::Kind::lognormal, 1000, 0, 1};
    CHECK_FALSE(check_requests(load, {{{}, {}}}, 5000));
    CHECK(check_requests(load, {{{}, {}}}, 5'000'000));
}
