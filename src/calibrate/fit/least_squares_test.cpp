#include "calibrate/fit/least_squares.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

TEST_CASE("constants that fit exactly are found") {
    // 2a + b = 1 and a + 3b = 1: a = 0.4, b = 0.2
    LeastSquares sums;
    sums.add({2, 1, 0, 0, 0}, 1);
    sums.add({1, 3, 0, 0, 0}, 5);
    const Constants found = sums.solve();
    CHECK(found[0] == approx(0.4).epsilon(1e-6));
    CHECK(found[1] == approx(0.2).epsilon(1e-6));
    CHECK(found[2] == 0);
}

TEST_CASE("no constant is negative: what would be is left out, the rest is fitted without it") {
    // a + b = 1 and 2a + 4b = 1 have b = -0.5
    LeastSquares sums;
    sums.add({1, 1, 0, 0, 0}, 1);
    sums.add({2, 4, 0, 0, 0}, 1);
    // a alone: (1 + 2) / (1 + 4) = 0.6, residual 0.4^2 + 0.2^2 = 0.2; b alone: (1 + 4) / (1 + 16) = 5/17, residual 0.53
    const Constants found = sums.solve();
    CHECK(found[0] == approx(0.6).epsilon(1e-6));
    CHECK(found[1] == 0);
}

TEST_CASE("weights count, and nothing gives nothing") {
    LeastSquares sums;
    CHECK(sums.solve() == Constants{});
    sums.add({1, 0, 0, 0, 0}, 3);
    sums.add({2, 0, 0, 0, 0}, 1);
    CHECK(sums.solve()[0] == approx(5.0 / 7));  // (3*1 + 1*2) / (3*1 + 1*4)
}

TEST_CASE("of many constants, too, none is negative and the rest is the best without") {
    // the same two equations as above with ten constants
    using Many = LeastSquaresOf<10>;
    Many sums;
    sums.add({1, 1}, 1);
    sums.add({2, 4}, 1);
    Many::Constants found = sums.solve();
    CHECK(found[0] == approx(0.6).epsilon(1e-6));
    CHECK(found[1] == 0);
    // a third constant has an equation of its own: 2c = 1
    sums.add({0, 0, 2}, 1);
    found = sums.solve();
    CHECK(found[0] == approx(0.6).epsilon(1e-6));
    CHECK(found[2] == approx(0.5).epsilon(1e-6));
    CHECK(Many().solve() == Many::Constants{});
}
