// Reduction of the number of points of a line.
#pragma once

#include <cstddef>
#include <vector>

#include "report/plot/svg.hpp"

namespace roofline::core {

/// Returns the increasing indices of at most `limit` (>= 2) points such that the line through them approximates the
/// line through all points. The choice is greedy: it keeps both ends and then repeatedly the point farthest from the
/// current line, until no point is a fifth of a pixel away. The time is O(limit * points).
[[nodiscard]] std::vector<std::size_t> simplified_line(const std::vector<XY>& points, std::size_t limit);

}  // namespace roofline::core
