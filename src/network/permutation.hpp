// Permutations with known targets: the loads on links, and the number of hops.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "network/placement.hpp"
#include "network/transfer.hpp"

namespace roofline::core {

/// Returns the load when chip i sends V to chip to[i], all at once; chips are numbered along the links, innermost
/// first, and -1 means that a chip sends nothing. The cuts are those around each chip, around runs of positions on an
/// axis (up to 512 of them), around nodes and leaves, and, for a single torus, all links together, over which every
/// byte travels at least the distance to its target. They bound any schedule; the hops are those of the longest path.
/// Errors: not one target per chip, places outside of the slice, two chips that send to the same one, more than a
/// million chips.
[[nodiscard]] Result<TransferLoad> permutation_load(const Slice& slice, const std::vector<std::int64_t>& to);

/// Returns the target of each chip when an array that is split over mesh axes, the first of them outermost, is to be
/// split over the same axes in another order. Errors: the two orders name different axes, more than a million chips.
[[nodiscard]] Result<std::vector<std::int64_t>> reorder(const Slice& slice,
                                                        const std::vector<const PlacedAxis*>& before,
                                                        const std::vector<const PlacedAxis*>& after);

/// Returns the targets when each chip sends to the next one along mesh axes, the first of them outermost; the last
/// chips send nothing. Errors: more than a million chips.
[[nodiscard]] Result<std::vector<std::int64_t>> next_along(const Slice& slice,
                                                           const std::vector<const PlacedAxis*>& axes);

}  // namespace roofline::core
