// Fewer points for the same picture.
#pragma once

#include <cstddef>
#include <vector>

#include "report/plot/svg.hpp"

namespace roofline::core {

/// Indices, rising, of at most `limit` (at least 2) of the points, so that the line through them departs from the line
/// through all by as little as can be had greedily: the two ends, then always the point farthest from the line so far,
/// until none is a fifth of a pixel away. Takes time proportional to limit times points at worst.
[[nodiscard]] std::vector<std::size_t> thinned(const std::vector<XY>& points, std::size_t limit);

}  // namespace roofline::core
