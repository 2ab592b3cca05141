// The slices of a machine that one would think of, by size.
#pragma once

#include <cstdint>
#include <vector>

#include "network/slice.hpp"

namespace roofline::core {

/// Slices that can be wired, of 1 chip up to `most_slice_chips`, or to what one domain of the innermost tier joins where that is
/// less: powers of two along each axis of a torus (not decreasing), of members elsewhere, then whole domains over the next tier.
/// Fewest chips first, among as many the most even shape.
inline constexpr std::int64_t most_slice_chips = 1024;
[[nodiscard]] std::vector<Slice> slice_shapes(const Machine& machine);

}  // namespace roofline::core
