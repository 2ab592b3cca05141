// Common slices of a machine, by size.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "network/slice.hpp"

namespace roofline::core {

/// Slices that can be built, from 1 chip up to `max_slice_chips`, or up to one domain of the innermost tier if that is
/// smaller: powers of two along each axis of a torus (not decreasing), or of members; then whole domains over the next
/// tier. Slices with fewest chips come first, and of equally many chips only the most even shape is listed.
inline constexpr std::int64_t max_slice_chips = 1024;
[[nodiscard]] std::vector<Slice> slice_shapes(const Machine& machine);

/// Returns the shapes of one torus of so many chips with 1 to 3 axes, the most even first: that whose longest axis is
/// the shortest. The lengths of a shape do not decrease.
[[nodiscard]] std::vector<std::vector<std::int64_t>> even_shapes(std::int64_t chips, std::size_t axes);

/// Returns the most even slice of exactly `chips` chips: a part of a domain or whole domains; on a torus the shape
/// whose longest axis is the shortest, or as few tori as possible, of a quarter of a pod at least. Errors: that many
/// chips cannot be wired (the hint names the nearest numbers that can).
[[nodiscard]] Result<Slice> slice_of_chips(const Machine& machine, std::int64_t chips);

/// Returns the smallest such slice of `chips` chips or more; empty if none of up to twice as many can be wired.
[[nodiscard]] std::optional<Slice> next_slice(const Machine& machine, std::int64_t chips);

}  // namespace roofline::core
