#include "report/plot/shares.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace roofline::core;

namespace {

std::size_t count_of(const std::string& text, std::string_view word) {
    std::size_t found = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
}

}  // namespace

TEST_CASE("a piece for every amount, its colour the same in every bar, and a table for who cannot see it") {
    SharesPlot plot{
        "title", "below", {{"first", "4", {{"a", 3, "3"}, {"b", 1, "1"}}}, {"second", "2", {{"b", 2, "2"}}}}};
    const std::string svg = to_svg(plot);
    CHECK(svg.starts_with("<svg "));
    CHECK(count_of(svg, "class=\"piece f0\"") == 2);  // a in the first bar and in the legend
    CHECK(count_of(svg, "class=\"piece f1\"") == 3);  // b in both bars and in the legend
    CHECK(svg.find("a 75 %") != std::string::npos);
    CHECK(svg.find("a | 3 | 75.00 %") != std::string::npos);
}

TEST_CASE("amounts that cannot be drawn are left out, and markup is only text") {
    SharesPlot plot{"<b>",
                    "",
                    {{"bar",
                      "",
                      {{"<i>", 1, "1"},
                       {"zero", 0, "0"},
                       {"less", -1, "-1"},
                       {"unknown", std::numeric_limits<double>::quiet_NaN(), "?"}}},
                     {"empty", "", {}}}};
    const std::string svg = to_svg(plot);
    CHECK(svg.find("<b>") == std::string::npos);
    CHECK(svg.find("<i>") == std::string::npos);
    CHECK(svg.find("zero") == std::string::npos);
    CHECK(svg.find("unknown") == std::string::npos);
}
