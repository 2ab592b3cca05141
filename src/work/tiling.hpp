// Tiles: what one needs on chip, and the one that moves the least.
#pragma once

#include "base/result.hpp"
#include "program/program.hpp"
#include "work/work.hpp"

namespace roofline {

/// Bytes that one tile of a kernel keeps at once: a block of every stored input and result and of every contraction's result
/// (these in the accumulator's dtype). Single buffering; elementwise intermediates live in registers. Dimensions that are not
/// named in `tile` are whole. Empty when a dimension has no size.
[[nodiscard]] std::optional<double> tile_bytes(const Program& program, const KernelWork& kernel, const Sizes& tile);

/// The tile with the least traffic that needs at most `capacity` bytes: results' dimensions that some input lacks take powers
/// of two from 8 or their whole size, summed dimensions blocks of 128, batch dimensions 1. Errors: sizes missing, nothing fits.
[[nodiscard]] Result<Sizes> best_tile(const Program& program, const KernelWork& kernel, double capacity);

}  // namespace roofline
