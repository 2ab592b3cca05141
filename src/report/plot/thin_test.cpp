#include "report/plot/thin.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace roofline::core {

TEST_CASE("a straight line needs its ends only") {
    std::vector<XY> points;
    for (int i = 0; i <= 1000; ++i) points.push_back({i * 0.5, 100 - i * 0.25});
    CHECK(simplified_line(points, 400) == std::vector<std::size_t>{0, 1000});
}

TEST_CASE("a kink is kept") {
    std::vector<XY> points;
    for (int i = 0; i <= 100000; ++i) points.push_back({i * 0.006, std::max(0.0, 300 - i * 0.006)});
    CHECK(simplified_line(points, 400) == std::vector<std::size_t>{0, 50000, 100000});
}

TEST_CASE("a curve keeps its shape") {
    std::vector<XY> points;
    for (int i = 0; i < 50000; ++i) {
        const double t = i * 1e-4;
        points.push_back({100 * std::cos(t), 100 * std::sin(t)});
    }
    const std::vector<std::size_t> kept = simplified_line(points, 400);
    CHECK(kept.size() < 100);
    CHECK(std::is_sorted(kept.begin(), kept.end()));
    for (std::size_t k = 1; k < kept.size(); ++k) {
        // The sagitta of the arc, r - sqrt(r^2 - (c/2)^2), is at most the fifth of a pixel.
        const double half =
            std::hypot(points[kept[k]].x - points[kept[k - 1]].x, points[kept[k]].y - points[kept[k - 1]].y) / 2;
        CHECK(100 - std::sqrt(100 * 100 - half * half) <= 0.2 + 1e-6);
    }
}

TEST_CASE("noise is cut at the limit") {
    std::vector<XY> points;
    for (int i = 0; i < 20000; ++i) points.push_back({i * 0.03, i % 2 == 0 ? 0.0 : 100.0 + i % 7});
    const std::vector<std::size_t> kept = simplified_line(points, 400);
    CHECK(kept.size() == 400);
    CHECK(kept.front() == 0);
    CHECK(kept.back() == 19999);
    CHECK(std::adjacent_find(kept.begin(), kept.end()) == kept.end());
}

TEST_CASE("few points and equal ones") {
    CHECK(simplified_line({}, 10).empty());
    CHECK(simplified_line({{1, 1}}, 10) == std::vector<std::size_t>{0});
    CHECK(simplified_line({{1, 1}, {1, 1}, {1, 1}}, 10) == std::vector<std::size_t>{0, 2});
}

}  // namespace roofline::core
