#include "calibrate/fit/fit_curve.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace roofline::core;

namespace {

constexpr double rate = 100e9;

/// An all-gather of `bytes` bytes through ports of 100 GB/s.
CollectivePoint gather(std::int64_t members, double bytes) {
    const auto n = static_cast<double>(members);
    return {members, bytes, bytes * (n - 1) / n / rate, bytes / rate};
}

/// Times of a known model: a latency of 5 us + 1 us per further step at a tenth of the rate, or of 25 us + 2 us at 80 %
/// of it.
double truth(std::int64_t members, double bytes) {
    const auto n = static_cast<double>(members);
    const double wire = bytes * (n - 1) / n / rate;
    return std::min(5e-6 + 1e-6 * (n - 2) + wire / 0.1, 25e-6 + 2e-6 * (n - 2) + wire / 0.8);
}

std::vector<TimedPoint> measured() {
    std::vector<TimedPoint> points;
    for (const std::int64_t members : {2, 4, 8}) {
        for (double bytes = 512; bytes < 1e9; bytes *= 2)
            points.push_back({gather(members, bytes), truth(members, bytes)});
    }
    return points;
}

double worst(const TimeCurve& curve) {
    double most = 0;
    for (const std::int64_t members : {2, 3, 4, 6, 8}) {
        for (double bytes = 700; bytes < 1e9; bytes *= 1.7) {
            most = std::max(most, std::abs(seconds_of(curve, gather(members, bytes)) / truth(members, bytes) - 1));
        }
    }
    return most;
}

}  // namespace

TEST_CASE("a model is found again from its times, at other sizes and counts too") {
    const CurveFit fit = fit_curve(measured(), 2, {});
    REQUIRE(fit.curve.segments.size() == 2);
    CHECK(fit.loss < 1e-3);
    CHECK(worst(fit.curve) < 0.01);
    const CurveSegment& large = cheapest(fit.curve, gather(2, 1e9));
    CHECK(large.base_s == approx(25e-6).epsilon(0.01));
    CHECK(large.step_s == approx(2e-6).epsilon(0.01));
    CHECK(large.link == approx(0.8).epsilon(0.01));
}

TEST_CASE("a tenth of rows that are thrice off do not bend it") {
    std::vector<TimedPoint> points = measured();
    for (std::size_t i = 3; i < points.size(); i += 10) points[i].time_s *= i % 20 == 3 ? 3 : 1.0 / 3;
    CHECK(worst(fit_curve(points, 2, {}).curve) < 0.15);
}

TEST_CASE("a jump becomes a limit, and only a jump does") {
    std::vector<TimedPoint> points = measured();
    CHECK_FALSE(fit_curve(points, 4, {}).curve.limit);
    for (TimedPoint& timed : points) {
        if (timed.point.buffer_bytes > 300e3) timed.time_s += 300e-6;  // another algorithm from this size on
    }
    const CurveFit fit = fit_curve(points, 4, {});
    REQUIRE(fit.curve.limit);
    CHECK_FALSE(fit.curve.limit->of_piece);
    CHECK(fit.curve.limit->bytes > 262144);
    CHECK(fit.curve.limit->bytes < 524288);
}

TEST_CASE("a curve does not fall where the measured times do") {
    std::vector<TimedPoint> points = measured();
    for (TimedPoint& timed : points) {
        if (timed.point.buffer_bytes < 300000) timed.time_s += 100e-6;
    }
    const CurveFit fit = fit_curve(points, 4, {});
    for (const std::int64_t members : {2, 4, 8}) {
        for (double bytes = 512; bytes < 1e9; bytes *= 1.1) {
            CHECK(seconds_of(fit.curve, gather(members, bytes * 1.1)) >= seconds_of(fit.curve, gather(members, bytes)));
        }
    }
}

TEST_CASE("few points get few segments") {
    std::vector<TimedPoint> points;
    for (const double bytes : {1e3, 1e6, 1e9}) points.push_back({gather(2, bytes), 1e-6 + bytes / rate});
    CurveTerms terms;
    terms.step = false;
    terms.buffer = false;
    const CurveFit fit = fit_curve(points, 4, terms);
    REQUIRE(fit.curve.segments.size() == 1);
    CHECK(fit.curve.segments.front().base_s == approx(1e-6));
    CHECK(fit.curve.segments.front().link == approx(0.5));
}

TEST_CASE("trees: steps grow with the logarithm where they are asked to") {
    std::vector<TimedPoint> points;
    for (const std::int64_t members : {4, 8, 16, 32, 64}) {
        for (double bytes = 512; bytes < 1e8; bytes *= 4) {
            const double steps = std::log2(static_cast<double>(members)) - 1;
            const CollectivePoint point = gather(members, bytes);
            points.push_back({point, 10e-6 + 3e-6 * steps + point.wire_s / 0.5});
        }
    }
    CurveTerms terms;
    terms.steps = StepCount::logarithmic;
    const CurveFit fit = fit_curve(points, 1, terms);
    CHECK(fit.curve.segments.front().step_s == approx(3e-6));
    CHECK(fit.loss < 1e-6);
}
