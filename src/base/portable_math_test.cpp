// The standard functions in long double are the reference: they have 11 bits more.
#include "base/portable_math.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace roofline::core;

namespace {

/// How far a number is from the exact one, in units in the last place.
double units_off(double got, long double exact) {
    const double size = std::abs(static_cast<double>(exact));
    return static_cast<double>(std::abs(got - exact) / (std::nextafter(size, HUGE_VAL) - size));
}

/// Numbers of both signs, evenly distributed over powers of two.
class Samples {
public:
    double next(double least_power, double most_power) {
        const double size = std::exp2(least_power + (most_power - least_power) * share());
        return generator_() % 2 == 0 ? size : -size;
    }
    double share() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }

private:
    std::mt19937_64 generator_{1};
};

}  // namespace

TEST_CASE("cube roots") {
    for (double n = 0; n < 2000; ++n) CHECK(cube_root(n * n * n) == n);
    CHECK(cube_root(-0.125) == -0.5);
    CHECK(cube_root(0x1p-1020) == 0x1p-340);
    CHECK(cube_root(0x1p1023) == 0x1p341);
    Samples samples;
    for (int i = 0; i < 10000; ++i) {
        const double x = samples.next(-1000, 1000);
        CHECK(units_off(cube_root(x), std::cbrt(static_cast<long double>(x))) < 1);
    }
}

TEST_CASE("hypotenuses") {
    CHECK(hypotenuse(0, 0) == 0);
    CHECK(hypotenuse(0, -7) == 7);
    CHECK(hypotenuse(-3e200, 4e200) == doctest::Approx(5e200).epsilon(1e-15));
    Samples samples;
    for (int i = 0; i < 10000; ++i) {
        const double a = samples.next(-1000, 1000);
        const double b = a * samples.next(-10, 10);
        CHECK(units_off(hypotenuse(a, b), std::hypot(static_cast<long double>(a), static_cast<long double>(b))) < 2);
    }
}

TEST_CASE("e^x - 1 and the logarithm of 1 + x also near 0") {
    CHECK(exp_minus_one(0) == 0);
    CHECK(exp_minus_one(1e-300) == 1e-300);
    CHECK(exp_minus_one(-1000) == -1);
    CHECK(std::isinf(exp_minus_one(1000)));
    CHECK(log_of_one_plus(1e-300) == 1e-300);
    Samples samples;
    for (int i = 0; i < 10000; ++i) {
        const double x = samples.next(-60, 8);
        CHECK(units_off(exp_minus_one(x), std::expm1(static_cast<long double>(x))) < 4);
        const double beyond = x > -1 ? x : -x;
        CHECK(units_off(log_of_one_plus(beyond), std::log1p(static_cast<long double>(beyond))) < 4);
    }
}

TEST_CASE("cosines of turns") {
    CHECK(cosine_of_turns(0) == 1);
    CHECK(cosine_of_turns(0.25) == 0);
    CHECK(cosine_of_turns(0.5) == -1);
    CHECK(cosine_of_turns(0.75) == 0);
    Samples samples;
    for (int i = 0; i < 10000; ++i) {
        const double x = samples.share();
        const long double exact = std::cos(2 * std::numbers::pi_v<long double> * x);
        CHECK(std::abs(static_cast<double>(cosine_of_turns(x) - exact)) < 4e-16);
    }
}
