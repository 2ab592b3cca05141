#include "algebra/rational.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace roofline::core {

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

/// 2^power by multiplication.
Rational two_to(int power) {
    Rational result(1);
    for (int i = 0; i < power; ++i) {
        result *= Rational(2);
    }
    return result;
}

}  // namespace

TEST_CASE("rationals are kept in lowest terms with a positive denominator") {
    CHECK(Rational(6, 4) == Rational(3, 2));
    CHECK(Rational(6, -4) == Rational(-3, 2));
    CHECK(Rational(0, 7) == Rational(0));
    CHECK(Rational(8, 4).is_whole());
    CHECK(Rational(3, 2).to_text() == "3/2");
    CHECK(Rational(-3).to_text() == "-3");
    CHECK(Rational(0).to_text() == "0");
    CHECK(Rational(1, 0).overflowed());
    CHECK(Rational(least, least) == Rational(1));
    CHECK(Rational(least, 1).to_int64() == least);
}

TEST_CASE("arithmetic is exact") {
    CHECK(Rational(1, 2) + Rational(1, 3) == Rational(5, 6));
    CHECK(Rational(1, 6) + Rational(1, 3) == Rational(1, 2));
    CHECK(Rational(1, 2) - Rational(1, 2) == Rational(0));
    CHECK(Rational(1, 3) - Rational(1, 2) == Rational(-1, 6));
    CHECK(Rational(2, 3) * Rational(9, 4) == Rational(3, 2));
    CHECK(Rational(2, 3) / Rational(-4, 9) == Rational(-3, 2));
    CHECK((Rational(most) * Rational(most)).to_text() == "85070591730234615847396907784232501249");
    CHECK(Rational(most) * Rational(most) / Rational(most) == Rational(most));
}

TEST_CASE("ceilings, including those of negative numbers") {
    CHECK(Rational(7, 2).ceil() == Rational(4));
    CHECK(Rational(-7, 2).ceil() == Rational(-3));
    CHECK(Rational(4).ceil() == Rational(4));
    CHECK(Rational(1, 128).ceil() == Rational(1));
    CHECK(Rational(0).ceil() == Rational(0));
}

TEST_CASE("numbers that do not fit are overflowed and stay so") {
    CHECK_FALSE(two_to(126).overflowed());
    CHECK(two_to(127).overflowed());
    CHECK((two_to(126) + two_to(126)).overflowed());
    CHECK((Rational(0) - two_to(126) - two_to(126)).overflowed());  // -2^127 has no negation
    CHECK_FALSE((two_to(126) + (two_to(126) - Rational(1))).overflowed());
    const Rational lost = two_to(127);
    CHECK((lost * Rational(0)).overflowed());
    CHECK((Rational(1) / lost).overflowed());
    CHECK((lost - lost).overflowed());
    CHECK(lost.ceil().overflowed());
    CHECK((Rational(1) / Rational(0)).overflowed());
    CHECK_FALSE(lost.is_zero());
    CHECK_FALSE(lost.is_whole());
    CHECK_FALSE(lost.to_int64());
    CHECK(std::isnan(lost.to_double()));
    CHECK(lost.to_text() == "overflow");
    CHECK(lost == Rational(1, 0));
}

TEST_CASE("common factors are cancelled before they can overflow") {
    CHECK((two_to(100) / Rational(3)) * (Rational(3) / two_to(100)) == Rational(1));
    CHECK(Rational(1) / two_to(126) + Rational(1) / two_to(126) == Rational(1) / two_to(125));
}

TEST_CASE("comparison") {
    CHECK(Rational(1, 3) < Rational(1, 2));
    CHECK_FALSE(Rational(1, 2) < Rational(1, 3));
    CHECK_FALSE(Rational(1, 2) < Rational(1, 2));
    CHECK(Rational(-1, 2) < Rational(-1, 3));
    CHECK(Rational(-1, 2) < Rational(0));
    CHECK(Rational(7, 2) < Rational(11, 3));
    CHECK(Rational(3) < Rational(7, 2));
    CHECK_FALSE(Rational(7, 2) < Rational(3));
    CHECK(Rational(most) < Rational(1, 0));  // overflowed compares greater than everything
    CHECK_FALSE(Rational(1, 0) < Rational(1, 0));
}

TEST_CASE("comparison where cross products would not fit") {
    const Rational big = two_to(126) - Rational(1);
    const Rational left = big / two_to(125);                                   // just under 2
    const Rational right = (big - Rational(2)) / (two_to(125) - Rational(1));  // (2^126 - 3) / (2^125 - 1), below left
    CHECK(right < left);
    CHECK_FALSE(left < right);
    CHECK(Rational(0) - left < Rational(0) - right);
    const Rational lowest = Rational(0) - (two_to(126) + (two_to(126) - Rational(1)));
    CHECK(lowest / (two_to(126) + Rational(1)) < Rational(-1));
    CHECK_FALSE(Rational(-1) < lowest / (two_to(126) + Rational(1)));
}

TEST_CASE("conversion") {
    CHECK(Rational(1, 3).to_double() == 1.0 / 3.0);
    CHECK(Rational(-9, 2).to_double() == -4.5);
    CHECK(two_to(100).to_double() == std::ldexp(1.0, 100));
    CHECK(Rational(most).to_int64() == most);
    CHECK_FALSE((Rational(most) + Rational(1)).to_int64());
    CHECK_FALSE(Rational(1, 2).to_int64());
}

TEST_CASE("the greatest common factor of two rationals") {
    CHECK(Rational::common_factor(Rational(2, 3), Rational(1, 2)) == Rational(1, 6));
    CHECK(Rational::common_factor(Rational(-4), Rational(6)) == Rational(2));
    CHECK(Rational::common_factor(Rational(0), Rational(-3, 4)) == Rational(3, 4));
    CHECK(Rational::common_factor(Rational(1, 0), Rational(1)).overflowed());
}

}  // namespace roofline::core
