#include "report/plot/axes.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

namespace roofline::core {
namespace {

std::string labels(const std::vector<Tick>& ticks) {
    std::string out;
    for (const Tick& t : ticks) {
        if (!t.label.empty()) out += (out.empty() ? "" : "; ") + t.label;
    }
    return out;
}

}  // namespace

TEST_CASE("a logarithmic axis gives every decade the same length") {
    const PlotAxis axis{true, 1, 1000, 100, 400};
    CHECK(axis.at(1) == approx(100));
    CHECK(axis.at(10) == approx(200));
    CHECK(axis.at(1000) == approx(400));
    CHECK(axis.decade_px() == approx(100));
    CHECK(axis.holds(1));
    CHECK(axis.holds(1000));
    CHECK_FALSE(axis.holds(1001));
    CHECK_FALSE(axis.holds(0.9));
}

TEST_CASE("an axis may run upwards on the screen") {
    const PlotAxis axis{false, 0, 10, 400, 0};
    CHECK(axis.at(2.5) == approx(300));
    CHECK(axis.holds(10));
    CHECK_FALSE(axis.holds(10.1));
}

TEST_CASE("decades are labelled") {
    CHECK(labels(log_ticks({true, 0.1, 100, 0, 1}, TickStyle::plain)) == "0.1; 1; 10; 100");
    CHECK(labels(log_ticks({true, 5e11, 5e14, 0, 1}, TickStyle::si)) == "1 T; 10 T; 100 T");
    CHECK(labels(log_ticks({true, 0.5, 2e4, 0, 1}, TickStyle::plain)) == "1; 10; 100; 1000; 10,000");
}

TEST_CASE("between decades lie eight minor ticks") {
    CHECK(log_ticks({true, 1, 1000, 0, 1}, TickStyle::plain).size() == 4 + 3 * 8);
}

TEST_CASE("many decades are labelled sparsely, few densely") {
    CHECK(labels(log_ticks({true, 1e-3, 1e12, 0, 1}, TickStyle::si)) == "0.01; 1; 100; 10 k; 1 M; 100 M; 10 G; 1 T");
    CHECK(log_ticks({true, 1e-50, 1e50, 0, 1}, TickStyle::plain).size() <= 10);
    CHECK(labels(log_ticks({true, 3, 30, 0, 1}, TickStyle::plain)) == "5; 10; 20");
    CHECK(labels(log_ticks({true, 2.2, 3.4, 0, 1}, TickStyle::plain)) == "2.2; 2.4; 2.6; 2.8; 3; 3.2; 3.4");
}

TEST_CASE("powers of two") {
    CHECK(labels(binary_ticks({true, 1, 512, 0, 1}, TickStyle::plain)) == "1; 2; 4; 8; 16; 32; 64; 128; 256; 512");
    const std::vector<Tick> many = binary_ticks({true, 1, std::ldexp(1.0, 40), 0, 1}, TickStyle::plain);
    CHECK(many.size() == 41);
    CHECK(labels({many.begin(), many.begin() + 5}) == "1; 16");
}

TEST_CASE("linear ticks are steps of 1, 2 or 5") {
    CHECK(labels(linear_ticks({false, 0, 220e12, 0, 1}, TickStyle::si)) == "0; 50 T; 100 T; 150 T; 200 T");
    CHECK(labels(linear_ticks({false, 0, 1, 0, 1}, TickStyle::plain)) == "0; 0.2; 0.4; 0.6; 0.8; 1");
    CHECK(labels(linear_ticks({false, 0, 12e3, 0, 1}, TickStyle::plain)) ==
          "0; 2000; 4000; 6000; 8000; 10,000; 12,000");
}

TEST_CASE("labels of ticks") {
    CHECK(tick_label(0, TickStyle::si) == "0");
    CHECK(tick_label(0.001, TickStyle::plain) == "0.001");
    CHECK(tick_label(1e3, TickStyle::si) == "1 k");
    CHECK(tick_label(1e15, TickStyle::si) == "1 P");
    CHECK(tick_label(2.5e12, TickStyle::si) == "2.5 T");
    CHECK(tick_label(1e6, TickStyle::plain) == "1 M");
    CHECK(tick_label(1e24, TickStyle::si) == "1e+24");
    CHECK(tick_label(0.1 + 0.2, TickStyle::plain) == "0.3");
}

TEST_CASE("widening keeps the middle") {
    double low = 9;
    double high = 11;
    widen_decades(low, high, 3);
    CHECK(std::log10(high / low) == approx(3));
    CHECK(low * high == approx(99));
    widen_decades(low, high, 2);
    CHECK(std::log10(high / low) == approx(3));
}

}  // namespace roofline::core
