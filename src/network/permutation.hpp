// Every chip sends to another: what must cross which wires when it is known who sends to whom.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "network/placement.hpp"
#include "network/transfer.hpp"

namespace roofline::core {

/// Chip i sends V to chip to[i], all at once; chips are numbered along the wires, innermost first, and -1 sends nothing. The cuts are
/// those around each chip, around runs of places on an axis (up to 512 of them), around nodes and leaves, and on a torus by
/// itself also all links together, over which every byte goes at least as far as its target is away. A bound for any schedule;
/// hops are those of the longest way. Errors: not one target a chip, places outside of the slice, a chip that two send to,
/// more than a million chips.
[[nodiscard]] Result<TransferLoad> permutation_load(const Slice& slice, const std::vector<std::int64_t>& to);

/// Who sends to whom when an array that is split over mesh axes, the first of them outermost, is to be split over the same axes in
/// another order. Both orders name the same axes. Errors: they do not, more than a million chips.
[[nodiscard]] Result<std::vector<std::int64_t>> reorder(const Slice& slice,
                                                        const std::vector<const PlacedAxis*>& before,
                                                        const std::vector<const PlacedAxis*>& after);

/// Each chip sends to the next one along mesh axes, the first of them outermost; the last ones send nothing. Errors: more than a
/// million chips.
[[nodiscard]] Result<std::vector<std::int64_t>> next_along(const Slice& slice,
                                                           const std::vector<const PlacedAxis*>& axes);

}  // namespace roofline::core
