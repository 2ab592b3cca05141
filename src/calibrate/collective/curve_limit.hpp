// The size that a curve's limit is compared with.
#pragma once

#include "calibrate/collective/collective_model.hpp"

namespace roofline::core {

/// Returns the bytes of a collective that a limit counts: the buffer, or one member's piece of it.
[[nodiscard]] double size_for_limit(const CurveLimit& limit, const CollectivePoint& point);

}  // namespace roofline::core
