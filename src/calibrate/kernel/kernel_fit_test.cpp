#include "calibrate/kernel/kernel_fit.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "base/approx_test.hpp"

namespace roofline::core {

namespace {

/// Models with a constant time of `us` microseconds.
SizedModel taking(double us) {
    SizedModel sized;
    sized.model.fixed_s = us * 1e-6;
    return sized;
}

KernelFit fit_by(BandsBy by) {
    KernelFit fit;
    fit.by = by;
    fit.bands = {{8, taking(10)}, {32, taking(40)}};
    fit.model = taking(90).model;
    return fit;
}

double us_of(const KernelFit& fit, double size) {
    KernelPoint point;
    point.m = fit.by == BandsBy::m ? size : 1;
    point.n = fit.by == BandsBy::n ? size : 128;
    point.heads = fit.by == BandsBy::heads ? size : fit.by == BandsBy::m ? 0 : 1;
    point.batch = 1;
    return seconds_of(fit, point) * 1e6;
}

}  // namespace

TEST_CASE("no model of kernels of microseconds and more expects less than a microsecond") {
    KernelFit fit;
    fit.model = taking(0).model;
    fit.least_s = 45e-6;
    CHECK(us_of(fit, 1) == approx(1).epsilon(1e-9));
    fit.least_s = 0.4e-6;  // of a processor, which launches nothing
    CHECK(us_of(fit, 1) == approx(0.4).epsilon(1e-9));
    fit.model = taking(3).model;
    CHECK(us_of(fit, 1) == approx(3).epsilon(1e-9));
}

TEST_CASE("models by rows meet: one fades out while the rows double") {
    const KernelFit fit = fit_by(BandsBy::m);
    const auto us = [&](double rows) { return approx(us_of(fit, rows)).epsilon(1e-9); };
    CHECK(10 == us(1));
    CHECK(10 == us(8));
    CHECK(20 == us(8 * std::sqrt(2)));  // halfway in logarithms: the square root of 10 x 40
    CHECK(10 * std::pow(4, 0.75) == us(8 * std::pow(2, 0.75)));
    CHECK(40 == us(16));
    CHECK(40 == us(32));
    CHECK(60 == us(32 * std::sqrt(2)));
    CHECK(90 == us(64));
    // one more row never causes a jump: at most 4^(log2(9/8))
    for (double rows = 8; rows < 64; rows += 1) {
        CHECK(us_of(fit, rows + 1) < us_of(fit, rows) * 1.27);
        CHECK(us_of(fit, rows + 1) >= us_of(fit, rows) * (1 - 1e-12));
    }
}

TEST_CASE("few rows take no longer than as many rows as the next model was fitted to") {
    KernelFit fit = fit_by(BandsBy::m);
    fit.bands[0].sized = taking(70);  // of 1 to 8 rows; those from 16 on take 40 us
    const auto us = [&](double rows) { return doctest::Approx(us_of(fit, rows)).epsilon(1e-9); };
    CHECK(70 == us(1));
    CHECK(40 == us(2));
    CHECK(40 == us(8));
    CHECK(40 == us(8 * std::sqrt(2)));
    CHECK(40 == us(16));
    // 16 rows of a model with a matmul time of 1 us a row at its machine's rate
    fit.bands[1].sized.model.fixed_s = 0;
    KernelPoint point{.math_s = 4e-6, .m = 4, .n = 128, .batch = 1};
    CHECK(seconds_of(fit, point) == doctest::Approx(16e-6).epsilon(1e-9));
    REQUIRE(padded_rows(fit, point));
    CHECK(padded_rows(fit, point)->m == 16);
    fit.ranges[batch_size] = {1, 1};
    for (const double rows : {1.0, 4.0}) {  // in a batch, though none was measured
        const KernelPoint batched{.math_s = rows * 1e-6, .m = rows, .n = 128, .batch = 2};
        CHECK(seconds_of(fit, batched) == doctest::Approx(16e-6).epsilon(1e-9));
    }
    point.batch = 2;
    fit.ranges[batch_size] = {1, 8};  // experts
    CHECK(seconds_of(fit, point) == doctest::Approx(74e-6).epsilon(1e-9));
    CHECK(!padded_rows(fit, point));
    // libraries keep to kernels for more rows than 8
    fit = fit_by(BandsBy::m);
    fit.bands[1].sized = taking(200);
    CHECK(us_of(fit, 32) == doctest::Approx(200));
}

TEST_CASE("models by heads fade out over a quarter more") {
    for (const BandsBy by : {BandsBy::heads, BandsBy::n}) {
        const KernelFit fit = fit_by(by);
        const auto us = [&](double size) { return approx(us_of(fit, size)).epsilon(1e-9); };
        CHECK(10 == us(8));
        CHECK(20 == us(8 * std::sqrt(1.25)));
        CHECK(40 == us(10));
        CHECK(60 == us(32 * std::sqrt(1.25)));
        CHECK(90 == us(40));
    }
}

TEST_CASE("a model fades out at the latest where the next one ends") {
    KernelFit fit = fit_by(BandsBy::m);
    fit.bands[1].most = 12;
    CHECK(us_of(fit, 12) == approx(40));
    CHECK(us_of(fit, 8 * std::sqrt(1.5)) == approx(20));
    CHECK(us_of(fit, 24) == approx(90));
}

}  // namespace roofline::core
