// The two sides of a curve's limit.
#pragma once

#include <vector>

#include "calibrate/collective/collective_model.hpp"

namespace roofline::core {

/// Returns the bytes of a collective that a limit counts: the buffer, or one member's piece of it.
[[nodiscard]] double size_for_limit(const CurveLimit& limit, const CollectivePoint& point);

/// Returns the segment with the least time of those on one side of a limit; there must be one.
[[nodiscard]] const CurveSegment& cheapest_of(const std::vector<CurveSegment>& segments, StepCount steps,
                                              const CollectivePoint& point);

}  // namespace roofline::core
