#include "calibrate/kernel/size_factors.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "calibrate/kernel/kernel_fit.hpp"

using namespace roofline::core;

namespace {

KernelPoint sized(double m, double n, double depth = 1, double batch = 1) {
    KernelPoint point;
    point.m = m;
    point.n = n;
    point.depth = depth;
    point.batch = batch;
    return point;
}

}  // namespace

TEST_CASE("factors between corners are those of the corners, in logarithms") {
    SizeFactors factors;
    CHECK(factor_of(factors, sized(1, 1)) == 1);
    factors.powers = {{{0, 1}, {0, 1}, {0, 0}, {0, 0}}};
    // m = 1: 1 at n = 1 and 2 at n = 4; m = 4: 4 and 8
    for (const int thousandth : {1000, 2000, 4000, 8000}) factors.logs.push_back(log_of(thousandth));
    CHECK(factor_of(factors, sized(1, 1)) == approx(1));
    CHECK(factor_of(factors, sized(1, 4)) == approx(2));
    CHECK(factor_of(factors, sized(4, 1)) == approx(4));
    CHECK(factor_of(factors, sized(4, 4)) == approx(8));
    CHECK(factor_of(factors, sized(2, 1)) == approx(2));
    CHECK(factor_of(factors, sized(2, 2)) == approx(std::sqrt(8.0)));
    // outside of the grid it is that of the boundary
    CHECK(factor_of(factors, sized(1e6, 1e6)) == approx(8));
    CHECK(factor_of(factors, sized(1, 1, 1e9, 1e9)) == approx(1));
    // kernels without matmuls have none
    CHECK(factor_of(factors, sized(0, 0)) == 1);
}

TEST_CASE("deviations tell factors, whatever a few wild rows say") {
    std::vector<SizedDeviation> rows;
    const auto add = [&](double m, double n, double factor) {
        rows.push_back({{{{m, n, 1, 1}, 1}}, std::log(factor)});
    };
    for (int i = 0; i < 20; ++i) {
        for (double m = 1; m <= 64; m *= 4) {
            for (double n = 1; n <= 64; n *= 4) add(m, n, m == 16 ? 1.5 : n == 64 ? 0.8 : 1);
        }
    }
    for (double m = 1; m <= 64; m *= 4) add(m, 1, 20);
    const SizeFactors fit = fit_factors(rows);
    CHECK(fit.powers == std::array<Powers, size_count>{{{0, 3}, {0, 3}, {0, 0}, {0, 0}}});
    CHECK(factor_of(fit, sized(16, 1)) == approx(1.5).epsilon(0.02));
    CHECK(factor_of(fit, sized(16, 64)) == approx(1.5).epsilon(0.02));
    CHECK(factor_of(fit, sized(1, 1)) == approx(1).epsilon(0.02));
    CHECK(factor_of(fit, sized(64, 64)) == approx(0.8).epsilon(0.02));
    CHECK(fit_factors({}).logs.empty());
    CHECK(fit_factors({SizedDeviation{{{{0, 0, 0, 0}, 1}}, 0.5}}).logs.empty());
}

TEST_CASE("sizes that nobody has do not make a lattice that no file holds") {
    std::vector<SizedDeviation> rows;
    rows.push_back({{{{1, 0.5, 1, 1}, 1}}, 0.1});
    rows.push_back({{{{1e300, 1e300, 1, 1}, 1}}, 0.1});
    const SizeFactors fit = fit_factors(rows);
    CHECK(fit.powers[0] == Powers{0, 15});
    CHECK(fit.powers[1] == Powers{0, 15});
    CHECK(fit.logs.size() == 256);
    CHECK(factor_of(fit, sized(1e300, 1e300)) == approx(std::exp(0.1)).epsilon(0.02));
}

TEST_CASE("of a time with several products each has its share of the factors") {
    // half of the model's time at m = 1, half at m = 64, and the latter alone: factors 1.2 and 1
    std::vector<SizedDeviation> rows;
    for (int i = 0; i < 50; ++i) {
        rows.push_back({{{{1, 1, 1, 1}, 0.5}, {{64, 1, 1, 1}, 0.5}}, 0.5 * std::log(1.2)});
        rows.push_back({{{{64, 1, 1, 1}, 1}}, 0});
    }
    const SizeFactors fit = fit_factors(rows);
    CHECK(factor_of(fit, sized(1, 1)) == approx(1.2).epsilon(0.02));
    CHECK(factor_of(fit, sized(64, 1)) == approx(1).epsilon(0.01));
}

TEST_CASE("a factor never puts a kernel below its bound") {
    KernelFit fit;
    fit.model.math = 0.5;
    fit.factors.powers = {};
    fit.factors.logs = {log_of(100)};
    KernelPoint point = sized(1, 1);
    point.math_s = 3e-6;
    CHECK(seconds_of(fit, point) == approx(3e-6));
    fit.factors.logs = {log_of(750)};
    CHECK(seconds_of(fit, point) == approx(4.5e-6));
}

TEST_CASE("of data that the model finds in a cache the bound is the cache's") {
    KernelFit fit;
    fit.model.warm = 0.5;
    fit.model.cache = 4;
    fit.model.fixed_s = 3e-6;
    fit.factors.powers = {};
    fit.factors.logs = {log_of(500)};
    KernelPoint point = sized(1, 1);
    point.memory_s = 8e-6;
    point.fill = 1e-3;
    CHECK(seconds_of(fit, point) == approx(2.5e-6));  // half of 3 us plus 2 us from the cache
    fit.factors.logs = {log_of(100)};
    CHECK(seconds_of(fit, point) == approx(2e-6));
    point.fill = 50;
    CHECK(seconds_of(fit, point) == approx(8e-6));
}

TEST_CASE("factors upon factors are on the finer of their lattices, as far as either goes") {
    SizeFactors a;  // m of 1 and 4, n of 4 and 16
    a.powers = {{{0, 1}, {1, 2}, {0, 0}, {0, 0}}};
    for (const int thousandth : {1000, 2000, 4000, 8000}) a.logs.push_back(log_of(thousandth));
    SizeFactors b;  // m of 2, 4 and 8, depth of 2 and 4
    b.doublings = fine;
    b.powers = {{{1, 3}, {2, 2}, {1, 2}, {0, 0}}};
    for (const int thousandth : {500, 1000, 1500, 1000, 2000, 4000}) b.logs.push_back(log_of(thousandth));
    const SizeFactors both = product_of(a, b);
    CHECK(both.doublings == fine);
    CHECK(both.powers == std::array<Powers, size_count>{{{0, 3}, {2, 4}, {0, 2}, {0, 0}}});
    for (const double m : {1.0, 2.0, 3.0, 8.0, 100.0}) {
        for (const double n : {1.0, 4.0, 9.0, 64.0}) {
            for (const double depth : {1.0, 2.0, 3.0, 64.0}) {
                const KernelPoint point = sized(m, n, depth);
                CHECK(factor_of(both, point) == approx(factor_of(a, point) * factor_of(b, point)).epsilon(0.002));
            }
        }
    }
    // only for m from 3 to 4
    const SizeFactors some = product_of(a, b, 3, 4);
    CHECK(some.powers[0] == Powers{1, 2});
    CHECK(factor_of(some, sized(3, 9, 3)) == approx(factor_of(both, sized(3, 9, 3))).epsilon(0.002));
    // a single one does not change
    CHECK(product_of(a, {}) == a);
    CHECK(product_of({}, b) == b);
    CHECK(product_of({}, {}) == SizeFactors{});
}

TEST_CASE("a finer lattice has corners at powers of two, and is not fitted to few rows") {
    std::vector<SizedDeviation> rows;
    for (double m = 1; m <= 64; m *= 2) rows.push_back({{{{m, 1, 1, 1}, 1}}, std::log(m == 8 ? 1.5 : 1)});
    const FactorGrain grain{fine, 0.001, 0.001, 4};
    const SizeFactors fit = fit_factors(rows, grain);
    CHECK(fit.powers[0] == Powers{0, 6});
    CHECK(factor_of(fit, sized(8, 1)) == approx(1.5).epsilon(0.01));
    CHECK(factor_of(fit, sized(4, 1)) == approx(1).epsilon(0.01));
    // 13 columns and 7 rows are 91 grid points; seven measurements with four points each allow 28
    rows.front().products.front().sizes[1] = 4096;
    CHECK(fit_factors(rows, grain).logs.empty());
}
