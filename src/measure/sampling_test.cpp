#include "measure/sampling.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "measure/stop.hpp"

using namespace roofline::core;

TEST_CASE("a quantile lies between order statistics") {
    const std::vector<double> sorted{1, 2, 4, 8};
    CHECK(quantile(sorted, 0) == 1);
    CHECK(quantile(sorted, 1) == 8);
    CHECK(quantile(sorted, 0.5) == 3);              // halfway from 2 to 4
    CHECK(quantile(sorted, 0.25) == approx(1.75));  // three quarters of the way from 1 to 2
    CHECK(quantile({5}, 0.3) == 5);
}

TEST_CASE("disturbed samples are counted and excluded unless most samples are disturbed") {
    std::vector<Sample> samples(10);
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i].seconds = static_cast<double>(i + 1);
    for (std::size_t i = 5; i < 10; ++i) samples[i].cpu_share = 0.5;
    Spread spread = spread_of(samples, 0.985);
    CHECK(spread.kept == 5);
    CHECK(spread.tried == 10);
    CHECK_FALSE(spread.disturbed);
    CHECK(spread.median == 3);
    CHECK(spread.best == 1);
    samples[4].stolen_s = 0.01;
    spread = spread_of(samples, 0.985);
    CHECK(spread.kept == 4);
    CHECK(spread.disturbed);
    CHECK(spread.median == approx(5.5));  // of all ten samples
}

TEST_CASE("calls that time themselves alternate, and an error ends sampling") {
    std::vector<int> order;
    const auto calls = [&](int which) {
        return TimedCalls([&order, which](std::int64_t) -> Result<Sample> {
            order.push_back(which);
            Sample sample;
            sample.seconds = 1;
            return sample;
        });
    };
    SamplingOptions options;
    options.samples = 3;
    options.warm_up_s = 0;
    const auto sampled = take_timed_samples({calls(1), calls(2)}, options);
    REQUIRE(sampled);
    // one call of each to estimate its duration, then rounds
    CHECK(order == std::vector<int>{1, 2, 1, 2, 1, 2, 1, 2});
    CHECK(sampled->front().spread.tried == 3);
    CHECK(sampled->front().calls == 1);

    const TimedCalls bad = [](std::int64_t) -> Result<Sample> { return fail("check_failed", "wrong"); };
    const auto failed = take_timed_samples({bad}, options);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code == "check_failed");
}

TEST_CASE("a request to stop ends sampling") {
    request_stop();
    const auto sampled = take_samples([](std::int64_t) -> Status { return {}; }, SamplingOptions{});
    reset_stop();
    REQUIRE_FALSE(sampled);
    CHECK(sampled.error().code == "interrupted");
}

TEST_CASE("the text of a spread") {
    Spread spread{1.2e-3, 1.1e-3, 1.3e-3, 1.0e-3, 15, 16, false};
    CHECK(spread_text(spread) == "median 1.2 ms, 15 of 16 samples, p5 to p95 1.1 ms to 1.3 ms");
    spread.disturbed = true;
    CHECK(spread_text(spread).find("DISTURBED") != std::string::npos);
}
