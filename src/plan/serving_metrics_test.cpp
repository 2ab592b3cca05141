#include "plan/serving_metrics.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"

using namespace roofline::core;

TEST_CASE("percentiles lie between the nearest values") {
    // 101 values 0 to 100, out of order
    std::vector<double> values;
    for (int i = 0; i <= 100; ++i) values.push_back(i * 37 % 101);
    const TimeSpread spread = time_spread(values);
    CHECK(spread == TimeSpread{50, 50, 90, 99});
    // numpy.percentile([1, 2, 10], [50, 90, 99]): 2, 2 + 0.8 * 8, 2 + 0.98 * 8
    const TimeSpread few = time_spread({10, 1, 2});
    CHECK(few.mean == approx(13.0 / 3));
    CHECK(few.p50 == 2);
    CHECK(few.p90 == approx(8.4));
    CHECK(few.p99 == approx(9.84));
    CHECK(time_spread({7}) == TimeSpread{7, 7, 7, 7});
    CHECK(time_spread({}) == TimeSpread{});
}

TEST_CASE("a histogram weighs its values") {
    TimeHistogram histogram;
    CHECK(histogram.spread() == TimeSpread{});
    histogram.add(0.02, 890);
    histogram.add(0.5, 100);
    histogram.add(0.001, 10);
    const TimeSpread spread = histogram.spread();
    CHECK(spread.mean == approx((0.02 * 890 + 50 + 0.01) / 1000));
    CHECK(spread.p50 == approx(0.02));
    CHECK(spread.p90 == approx(0.02));  // the 900th of them
    CHECK(spread.p99 == approx(0.5));
    histogram.add(0.5, 1);
    CHECK(histogram.spread().p90 == approx(0.5));
}

TEST_CASE("evenly spaced values are those values") {
    TimeHistogram at_once;
    at_once.add_evenly(1, 3, 2001, 5);
    TimeHistogram one_by_one;
    for (int i = 0; i <= 2000; ++i) one_by_one.add(1 + i / 1000.0, 5);
    CHECK(at_once.count() == approx(10005));
    CHECK(at_once.spread().mean == approx(2));
    CHECK(at_once.spread().p50 == approx(2).epsilon(0.003));
    CHECK(at_once.spread().p90 == approx(2.8).epsilon(0.003));
    CHECK(at_once.spread().p99 == approx(one_by_one.spread().p99).epsilon(1e-4));
    TimeHistogram equal;
    equal.add_evenly(2, 2, 1e9, 1);
    CHECK(equal.spread().p50 == approx(2));
    CHECK(equal.count() == 1e9);
}

TEST_CASE("goodput counts requests that meet both targets") {
    ServingRun run;
    // TTFT and TPOT: 1 and 1, 3 and 1, 1 and 3, 1 and none; the first one does not count
    run.requests = {{0, 9, 9, 1}, {0, 1, 2, 2}, {0, 3, 4, 2}, {0, 1, 4, 2}, {5, 6, 6, 1}};
    run.first = 1;
    run.seconds = 10;
    CHECK(met_fraction(run, {2, 2}) == approx(0.5));
    CHECK(met_fraction(run, {2, {}}) == approx(0.75));
    CHECK(met_fraction(run, {{}, 2}) == approx(0.75));
    CHECK(met_fraction(run, {1, 1}) == approx(0.5));
    const ServingTimes times = serving_times(run);
    CHECK(times.ttft.mean == approx(1.5));
    CHECK(times.all_ttft_s == approx(3));
    CHECK(times.tpot.mean == approx(5.0 / 3));
    CHECK(times.tokens_per_s == approx(0.8));
}
