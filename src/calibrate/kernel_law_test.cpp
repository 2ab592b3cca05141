#include "calibrate/kernel_law.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace roofline;

TEST_CASE("the law of a kernel is the lower bound at p = infinity and the upper bound at p = 1") {
    const KernelPoint point{3e-6, 0, 4e-6, 0, 4096};
    KernelLaw law;
    CHECK(seconds_of(law, point) == doctest::Approx(4e-6));
    law.p = 1;
    CHECK(seconds_of(law, point) == doctest::Approx(7e-6));
    law.p = 2;  // a right triangle of 3, 4 and 5
    CHECK(seconds_of(law, point) == doctest::Approx(5e-6));
}

TEST_CASE("fractions, fixed cost and ramp of a kernel's law") {
    KernelLaw law;
    law.fixed_s = 2e-6;
    law.ramp_s = 1e-9;
    law.math = 0.75;
    law.memory = 0.8;
    // 6 us of math at 0.75 are 8, 4.8 us of memory at 0.8 are 6: the hypotenuse is 10; 1000 elements ramp for 1 us
    law.p = 2;
    CHECK(seconds_of(law, {6e-6, 0, 4.8e-6, 0, 1000}) == doctest::Approx(13e-6));
    // vector work and other levels are parts of their own
    law.vector = 0.5;
    CHECK(seconds_of(law, {0, 3e-6, 0, 8e-6, 0}) == doctest::Approx(12e-6));
    CHECK(seconds_of(law, {}) == doctest::Approx(2e-6));
}

TEST_CASE("a norm neither overflows nor loses what is small") {
    CHECK(norm_of({1e300, 1e300, 0, 0}, 2) == doctest::Approx(1.4142135623730951e300));
    CHECK(norm_of({1e-300, 0, 0, 1e-300}, 64) == doctest::Approx(1.0108892860517005e-300));  // 2^(1/64)
    CHECK(norm_of({0, 0, 0, 0}, 3) == 0);
    CHECK(norm_of({1, 2, 3, 4}, std::numeric_limits<double>::infinity()) == 4);
}
