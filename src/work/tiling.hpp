// Tiles: the on-chip memory that a tile needs, and the tile with the least traffic.
#pragma once

#include "base/result.hpp"
#include "program/program.hpp"
#include "work/work.hpp"

namespace roofline::core {

/// Returns the bytes that one tile of a kernel keeps at once: a block of every stored input and result and of every
/// contraction's result (these in the accumulator's dtype), with single buffering; elementwise intermediates are in
/// registers. Dimensions that are not named in `tile` are whole. Empty when a dimension has no size.
[[nodiscard]] std::optional<double> tile_bytes(const Program& program, const KernelWork& kernel, const Sizes& tile);

/// The bytes that a thread block keeps: blocks of operands in shared memory, sums in registers.
struct BlockBytes {
    double operands = 0;
    double sums = 0;
};

/// Returns both numbers for a kernel's tile, under the rules of tile_bytes(). Empty when a dimension has no size.
[[nodiscard]] std::optional<BlockBytes> block_bytes(const Program& program, const KernelWork& kernel,
                                                    const Sizes& tile);

/// Returns the dimensions that a kernel sums over.
[[nodiscard]] std::vector<std::string> summed_dims(const Program& program, const KernelWork& kernel);

/// Returns the size of a group of thread blocks that run at the same time and share what they fetch, at most `blocks`
/// of the `tile`: the group with the least traffic, in multiples of the tile by powers of two. Without dimensions, so
/// that everything is fetched once, if `cache` bytes hold all inputs but the largest. Every dimension must have a size.
[[nodiscard]] Sizes group_of_blocks(const Program& program, const KernelWork& kernel, const Sizes& tile,
                                    std::int64_t blocks, double cache);

/// Returns the tile with the least traffic that needs at most `capacity` bytes. Dimensions of results that some input
/// lacks are powers of two from 8 or whole, summed dimensions have blocks of 128, batch dimensions 1. Errors: sizes
/// missing, nothing fits.
[[nodiscard]] Result<Sizes> best_tile(const Program& program, const KernelWork& kernel, double capacity);

}  // namespace roofline::core
