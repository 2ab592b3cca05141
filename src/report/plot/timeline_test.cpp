#include "report/plot/timeline.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/approx_test.hpp"
#include "report/plot/svg_elements_test.hpp"

namespace roofline::core {
namespace {

/// Two steps of 30 and 70 us; the network determines the time of the second one.
Timeline two_steps() {
    Timeline line;
    line.title = "block";
    line.lanes = {"math", "ICI"};
    line.steps = {{"H", "H = In * Win", 30e-6, {{0, 0, 30e-6, "", true, {}}}},
                  {"Out",
                   "Out = H * Wout",
                   70e-6,
                   {{0, 0, 35e-6, "", false, {}}, {1, 0, 70e-6, "all-reduce Out over Y", true, {"all-reduce"}}}}};
    line.total_s = 100e-6;
    line.overlap_s = 70e-6;
    return line;
}

}  // namespace

TEST_CASE("steps follow one another, and bars are as long as their times") {
    const std::vector<SvgElement> bars = elements_of(to_svg(two_steps()), "bar");
    REQUIRE(bars.size() == 3);
    // Both ends of each bar are inset by a pixel for the outline.
    const double scale = (bars[0].number("width") + 2) / 30;
    CHECK(bars[1].number("x") - bars[0].number("x") == approx(30 * scale).epsilon(1e-3));
    CHECK(bars[2].number("x") == bars[1].number("x"));
    CHECK(bars[1].number("width") + 2 == approx(35 * scale).epsilon(1e-3));
    CHECK(bars[2].number("width") + 2 == approx(70 * scale).epsilon(1e-3));
    CHECK(bars[0].number("y") == bars[1].number("y"));
    CHECK(bars[2].number("y") > bars[1].number("y"));
    CHECK(bars[0].has_class("decides"));
    CHECK_FALSE(bars[1].has_class("decides"));
    CHECK(bars[2].has_class("decides"));
}

TEST_CASE("the whole and its bound are marked, and the table says which parts overlap") {
    const std::string svg = to_svg(two_steps());
    const std::vector<std::string> strong = texts(elements_of(svg, "strong"));
    CHECK(contains(strong, "sequential 100 us"));
    CHECK(contains(strong, "lower 70 us, if everything overlaps"));
    const std::vector<std::string> details = texts(elements_of(svg, "detail"));
    CHECK(contains(details, "1  H = In * Win"));
    CHECK(contains(details, "math 35 us"));
    CHECK(contains(details, "ICI: all-reduce"));
    CHECK(contains(details, "all-reduce Out over Y, 70 us"));
    CHECK(svg.find("2 Out = H * Wout | 70 us | ICI | math 35 us\n  ICI: all-reduce\n") != std::string::npos);
}

TEST_CASE("a repeat is drawn once with its count; totals are then written, not marked") {
    Timeline line = two_steps();
    line.repeats = {{1, 2, 0, "L = 8"}};
    line.total_s = 590e-6;
    line.overlap_s = 560e-6;
    const std::string svg = to_svg(line);
    CHECK(contains(texts(elements_of(svg, "detail")), "\u00d7 L = 8, drawn once"));
    CHECK(contains(texts(elements_of(svg, "strong")),
                   "sequential 590 us; lower 560 us, if everything overlaps, repeats included"));
    CHECK(elements_of(svg, "peak").empty());
    CHECK(elements_of(svg, "bracket").size() == 1);
}

TEST_CASE("labels of repeats side by side do not lie on each other") {
    Timeline line = two_steps();
    line.steps[1].seconds = line.steps[0].seconds / 1000;  // too narrow for a label next to that of the first step
    line.repeats = {{0, 1, 0, "L = 8 of a kind with quite a long name"},
                    {1, 2, 0, "M = 9 of a kind with quite a long name"}};
    const std::string svg = to_svg(line);
    CHECK(elements_of(svg, "bracket").size() == 2);
    std::size_t labels = 0;
    for (const std::string& text : texts(elements_of(svg, "detail"))) {
        if (text.starts_with("\u00d7")) ++labels;
    }
    CHECK(labels == 1);
}

TEST_CASE("of many steps the longest are listed, and a long statement goes on in a second line") {
    Timeline line = two_steps();
    line.steps.assign(20, line.steps[0]);
    for (std::size_t i = 0; i < 20; ++i) {
        line.steps[i].label = fmt::format("S{}", i + 1);
        line.steps[i].seconds = i < 4 ? 1e-6 : 30e-6;
    }
    line.steps[10].label = "H = silu(G *_D Wgate) * (G *_D Wup) + Residual";
    const std::vector<std::string> details = texts(elements_of(to_svg(line), "detail"));
    for (std::size_t i = 0; i < 20; ++i) {
        if (i != 10) CHECK(contains(details, fmt::format("S{}", i + 1)) == (i >= 4));
    }
    CHECK(contains(details, "and 4 more statements, none of which takes longer"));
    CHECK(contains(details, "H = silu(G *_D Wgate) * (G"));
    CHECK(contains(details, "*_D Wup) + Residual"));
}

TEST_CASE("the axis keeps its title clear of the line that marks the bound") {
    Timeline line = two_steps();
    line.overlap_s = 58e-6;  // slightly to the right of the middle
    const std::string svg = to_svg(line);
    const std::vector<SvgElement> all = SvgReader(svg).read();
    const auto title = std::find_if(all.begin(), all.end(),
                                    [](const SvgElement& e) { return e.text.starts_with("time of one chip"); });
    REQUIRE(title != all.end());
    const double half = text_width(title->text, 12) / 2;
    for (const SvgElement& mark : elements_of(svg, "peak")) {
        CHECK(std::abs(mark.number("x1") - title->number("x")) > half);
    }
}

TEST_CASE("many steps, none, hostile names and times that are not finite") {
    Timeline many = two_steps();
    for (int i = 0; i < 100'000; ++i) many.steps.push_back(many.steps[0]);
    many.repeats = {{0, 100'002, 0, "L"}, {5000, 6000, 1, "M"}};
    const std::string svg = to_svg(many);
    CHECK_FALSE(SvgReader(svg).read().empty());
    CHECK(svg.size() < 200'000);
    CHECK(contains(texts(elements_of(svg, "detail")), "and 99986 more statements; the first 200 are drawn"));

    CHECK_FALSE(SvgReader(to_svg(Timeline{})).read().empty());

    Timeline hostile = two_steps();
    hostile.lanes[0] = "<&\"'\x01>";
    hostile.steps[0].label = std::string(5000, '<');
    hostile.steps[0].seconds = std::nan("");
    hostile.steps[1].bars[0].seconds = INFINITY;
    hostile.steps[1].bars[1].lane = 99;
    CHECK_FALSE(SvgReader(to_svg(hostile)).read().empty());
}

}  // namespace roofline::core
