#include "report/plot/scatter.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace roofline::core;

namespace {

std::size_t count(const std::string& text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

ScatterPlot plot_of(std::vector<std::pair<double, double>> points) {
    return {"Title", "sub", "x", "y", "y = x", {{"dots <1>", std::move(points)}}};
}

}  // namespace

TEST_CASE("every point is drawn, those that cover one another once") {
    // The legend contains one more mark.
    CHECK(count(to_svg(plot_of({{1, 1}, {10, 100}, {1000, 10}})), "<circle") == 4);
    CHECK(count(to_svg(plot_of({{1, 1}, {1, 1}, {1000, 10}})), "<circle") == 3);
}

TEST_CASE("the diagonal is drawn where both axes reach") {
    CHECK(count(to_svg(plot_of({{1, 10}, {1000, 100}})), "y = x") == 1);
    CHECK(count(to_svg(plot_of({{1, 1e9}, {10, 1e10}})), "y = x") == 0);
}

TEST_CASE("what cannot be drawn is left out, and labels are escaped") {
    const double inf = std::numeric_limits<double>::infinity();
    const std::string svg = to_svg(plot_of({{0, 1}, {1, -1}, {inf, 1}, {1, std::nan("")}, {2, 3}}));
    CHECK(count(svg, "<circle") == 2);
    CHECK(count(svg, "dots &lt;1&gt;") > 0);
    CHECK(count(svg, "nan") == 0);
    CHECK(count(to_svg(plot_of({})), "</svg>") == 1);
    CHECK(count(to_svg(ScatterPlot{}), "</svg>") == 1);
}
