#include "measure/run/bounded.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <string_view>

#include "base/approx_test.hpp"

using namespace roofline::core;

TEST_CASE("run: the error of an argument changes the result in proportion to the derivative") {
    const Rounding f32(Dtype::f32);
    // exp(1.001) is the upper end, plus 32 rounding errors of the function itself
    const Bounded e = mapped("exp", {Bounded{1, 1e-3}}, f32);
    CHECK(e.value == approx(2.718281828));
    CHECK(e.bound == approx(2.718281828 * (std::expm1(1e-3) + 32 * 0x1p-24)));
    // 3 * 5 with 0.01 and 0.02: 5 * 0.01 + 3 * 0.02
    CHECK(mapped("mul", {Bounded{3, 0.01}, Bounded{5, 0.02}}, f32).bound == approx(0.11).epsilon(1e-3));
    // sigmoid(3) is 0.9526; rounding errors of cancelling terms are allowed for
    CHECK(mapped("silu", {Bounded{3, 0}}, f32).value == approx(3 * 0.952574127));
}

TEST_CASE("run: 32-bit integers wrap and have no rounding error") {
    const Rounding whole(Dtype::int32);
    CHECK(mapped("mul", {Bounded{65536, 0}, Bounded{65537, 0}}, whole).value == 65536);
    CHECK(mapped("square", {Bounded{-50000, 0}}, whole).value == 2500000000.0 - 4294967296.0);
    CHECK(mapped("div", {Bounded{-7, 0}, Bounded{2, 0}}, whole).value == -3);
    CHECK(mapped("add", {Bounded{2147483647, 0}, Bounded{1, 0}}, whole).value == -2147483648.0);
    CHECK(along_row("sum", {{3, 0}, {4, 0}}, {}, whole).front().bound == 0);
}

TEST_CASE("run: error bounds of functions that work on rows") {
    const Rounding f64(Dtype::f64);
    const std::vector<Bounded> row{{1, 0}, {2, 0}, {3, 0}, {6, 0}};
    CHECK(along_row("mean", row, {}, f64).front().value == approx(3));
    CHECK(along_row("max", row, {}, f64).front().value == 6);
    CHECK(along_row("min", row, {}, f64).front().value == 1);
    // The deviations -2, -1, 0, 3 have a variance of 3.5; the mean square is 12.5.
    CHECK(along_row("layernorm", row, {}, f64)[3].value == approx(3 / std::sqrt(3.5)));
    CHECK(along_row("norm", row, {}, f64)[3].value == approx(6 / std::sqrt(12.5)));
    CHECK(along_row("logsumexp", {{0, 0}, {0, 0}}, {}, f64).front().value == approx(std::log(2.0)));
    CHECK(along_row("softmax", {{0, 0}, {std::log(3.0), 0}}, {}, f64)[1].value == approx(0.75));
    // h = a h + b: 5, 2 * 5 + 7
    CHECK(along_row("scan", {{9, 0}, {2, 0}}, {{5, 0}, {7, 0}}, f64)[1].value == 17);
    // The error of a sum is the sum of the errors of its terms, plus 4 sqrt(4) + 8 rounding errors of 12.
    CHECK(along_row("sum", {{1, 0.1}, {2, 0}, {3, 0}, {6, 0}}, {}, Rounding(Dtype::f32)).front().bound ==
          approx(0.1 + 12 * 0x1p-24 * 16));
}

TEST_CASE("run: derivatives equal finite differences of their functions") {
    const Rounding f64(Dtype::f64);
    const double h = 1e-5;
    for (const char* function : {"sigmoid", "silu", "gelu"}) {
        CAPTURE(function);
        for (const double x : {-6.0, -1.3, 0.0, 0.4, 2.5}) {
            const double up = mapped(function, {Bounded{x + h, 0}}, f64).value;
            const double down = mapped(function, {Bounded{x - h, 0}}, f64).value;
            const double slope = mapped("d" + std::string(function), {Bounded{x, 0}, Bounded{3, 0}}, f64).value;
            CHECK(std::abs(slope - 3 * (up - down) / (2 * h)) < 1e-8);
        }
    }
    const std::vector<Bounded> x{{1, 0}, {2.5, 0}, {-3, 0}, {0.2, 0}};
    const std::vector<Bounded> y{{0.3, 0}, {-2, 0}, {1, 0}, {4, 0}};
    // derivative of sum(y f(x)) with respect to each x
    const auto total = [&](const std::string& function, std::size_t at, double by) {
        std::vector<Bounded> moved = x;
        moved[at].value += by;
        double sum = 0;
        const std::vector<Bounded> made = along_row(function, moved, {}, f64);
        for (std::size_t i = 0; i < y.size(); ++i) sum += made[i].value * y[i].value;
        return sum;
    };
    for (const char* function : {"softmax", "norm", "layernorm"}) {
        CAPTURE(function);
        // the derivative of a softmax takes the result of the softmax
        const bool of_result = std::string_view(function) == "softmax";
        const std::vector<Bounded> from = of_result ? along_row("softmax", x, {}, f64) : x;
        const std::vector<Bounded> slopes = along_row("d" + std::string(function), from, y, f64);
        for (std::size_t i = 0; i < x.size(); ++i) {
            CHECK(std::abs(slopes[i].value - (total(function, i, h) - total(function, i, -h)) / (2 * h)) < 1e-8);
        }
    }
    // scan: h0 = 5, h1 = 2 h0 + 7, h2 = 3 h1 + 1; sum of (1, 10, 100) h by b is 1 + 2 (10 + 3 100), 10 + 300, 100
    const std::vector<Bounded> back = along_row("dscan", {{9, 0}, {2, 0}, {3, 0}}, {{1, 0}, {10, 0}, {100, 0}}, f64);
    CHECK(back[0].value == 621);
    CHECK(back[1].value == 310);
    CHECK(back[2].value == 100);
}

TEST_CASE("run: a stored number is rounded to its dtype, saturates or overflows") {
    CHECK(stored({300.4, 0}, Dtype::int8).value == 127);
    CHECK(stored({2.4, 0}, Dtype::int8).value == 2);
    CHECK(stored({2.4, 0.2}, Dtype::int8).bound == approx(1.2));  // 2 or 3
    CHECK(stored({1, 0}, Dtype::bf16).bound == approx(0x1p-8));
    CHECK(stored({1e5, 0}, Dtype::f16).bound == unbounded);
    CHECK(stored({0.5, 0}, Dtype::boolean).value == 1);
}
