#include "plan/request_lengths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/approx_test.hpp"
#include "plan/random_numbers.hpp"

using namespace roofline::core;

namespace {

struct Moments {
    double mean = 0;
    double log_mean = 0;
    double log_deviation = 0;
    std::int64_t least = 0;
    std::int64_t most = 0;
};

Moments prompts_of(const LengthDistribution& lengths) {
    RequestLengths all;
    all.prompt = lengths;
    const auto requests = draw_requests(all, 200'000);
    Moments moments{0, 0, 0, requests.front().prompt, requests.front().prompt};
    const auto count = static_cast<double>(requests.size());
    double squares = 0;
    for (const RequestTokens& request : requests) {
        const double log = std::log(static_cast<double>(request.prompt));
        moments.mean += static_cast<double>(request.prompt) / count;
        moments.log_mean += log / count;
        squares += log * log / count;
        moments.least = std::min(moments.least, request.prompt);
        moments.most = std::max(moments.most, request.prompt);
    }
    moments.log_deviation = std::sqrt(squares - moments.log_mean * moments.log_mean);
    return moments;
}

}  // namespace

TEST_CASE("random numbers are those of the standard's generator") {
    // the standard says the 10,000th number of the default seed (C++20, 28.5.6)
    std::mt19937_64 generator;
    generator.discard(9999);
    REQUIRE(generator() == 9981545732273789042U);
    RandomNumbers first(5489);  // the default seed
    CHECK(first.uniform() == static_cast<double>(std::mt19937_64{}() >> 11) / 9007199254740992.0);
    RandomNumbers random(7);
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < 100'000; ++i) {
        sum += random.exponential() / 100'000;
        const double normal = random.normal();
        squares += normal * normal / 100'000;
    }
    CHECK(sum == approx(1).epsilon(0.01));
    CHECK(squares == approx(1).epsilon(0.015));
}

TEST_CASE("lengths have the distribution that is asked for") {
    const Moments uniform = prompts_of({LengthDistribution::Kind::uniform, 0, 0, 0, 10, 20});
    CHECK(uniform.mean == approx(15).epsilon(0.002));
    CHECK(uniform.least == 10);
    CHECK(uniform.most == 20);
    const Moments skewed = prompts_of({LengthDistribution::Kind::lognormal, 1000, 0, 0.5});
    CHECK(skewed.mean == approx(1000).epsilon(0.005));
    CHECK(skewed.log_deviation == approx(0.5).epsilon(0.005));
    CHECK(skewed.log_mean == approx(std::log(1000) - 0.125).epsilon(0.001));
    const Moments even = prompts_of({LengthDistribution::Kind::even, 100, 0.1});
    CHECK(even.mean == approx(100).epsilon(1e-4));
    CHECK(even.least == 90);
    CHECK(even.most == 110);
    CHECK(prompts_of({LengthDistribution::Kind::even, 7}).most == 7);
    CHECK(mean_length({LengthDistribution::Kind::uniform, 0, 0, 0, 10, 21}) == 15.5);
    CHECK(mean_length({LengthDistribution::Kind::lognormal, 1000, 0, 0.5}) == 1000);
}

TEST_CASE("even lengths are those of multiples of the golden ratio") {
    // 0.618 and 0.236 of the way from 2 to 6
    RequestLengths lengths;
    lengths.output = {LengthDistribution::Kind::even, 4, 0.5};
    const auto requests = draw_requests(lengths, 2);
    CHECK(requests[0].output == 4);
    CHECK(requests[1].output == 3);
}

TEST_CASE("listed requests come in turn, and the first ones do not depend on the number") {
    RequestLengths lengths;
    lengths.listed = {{10, 2}, {20, 3}};
    const auto requests = draw_requests(lengths, 5);
    REQUIRE(requests.size() == 5);
    CHECK(requests[4] == RequestTokens{10, 2});
    CHECK(requests[3] == RequestTokens{20, 3});
    RequestLengths drawn;
    drawn.prompt = {LengthDistribution::Kind::lognormal, 1000, 0, 1};
    drawn.output = {LengthDistribution::Kind::uniform, 0, 0, 0, 1, 1000};
    const auto few = draw_requests(drawn, 10);
    const auto many = draw_requests(drawn, 100);
    CHECK(std::equal(few.begin(), few.end(), many.begin()));
}

TEST_CASE("a part of each prompt is cached, but never its last token") {
    CHECK(cached_tokens({0.8, 0}, 1000) == 800);
    CHECK(cached_tokens({0.8, 0}, 9) == 7);
    CHECK(cached_tokens({1, 0}, 1000) == 999);
    CHECK(cached_tokens({0, 600}, 1000) == 600);
    CHECK(cached_tokens({0, 600}, 100) == 99);
    CHECK(cached_tokens({}, 1) == 0);
    RequestLengths lengths;
    lengths.prompt = {LengthDistribution::Kind::even, 50};
    lengths.cached = {0.5, 0};
    CHECK(draw_requests(lengths, 1).front().cached == 25);
}
