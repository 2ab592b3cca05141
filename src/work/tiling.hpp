// Tiles: what one needs on chip, and the one that moves the least.
#pragma once

#include "base/result.hpp"
#include "program/program.hpp"
#include "work/work.hpp"

namespace roofline::core {

/// Bytes that one tile of a kernel keeps at once: a block of every stored input and result and of every contraction's result
/// (these in the accumulator's dtype). Single buffering; elementwise intermediates live in registers. Dimensions that are not
/// named in `tile` are whole. Empty when a dimension has no size.
[[nodiscard]] std::optional<double> tile_bytes(const Program& program, const KernelWork& kernel, const Sizes& tile);

/// What a thread block keeps: blocks of operands in shared memory, sums in registers.
struct BlockBytes {
    double operands = 0;
    double sums = 0;
};

/// The two of a kernel's tile, under the rules of tile_bytes(). Empty when a dimension has no size.
[[nodiscard]] std::optional<BlockBytes> block_bytes(const Program& program, const KernelWork& kernel,
                                                    const Sizes& tile);

/// The dimensions that a kernel sums over.
[[nodiscard]] std::vector<std::string> summed_dims(const Program& program, const KernelWork& kernel);

/// Thread blocks that run at the same time, at most `blocks` of the `tile`, share what they fetch: the sizes of the group with the
/// least traffic, powers of two of the tile. None at all, so that everything is fetched once, where `cache` bytes hold all inputs
/// but the largest. Every dimension has a size.
[[nodiscard]] Sizes group_of_blocks(const Program& program, const KernelWork& kernel, const Sizes& tile,
                                    std::int64_t blocks, double cache);

/// The tile with the least traffic that needs at most `capacity` bytes: results' dimensions that some input lacks take powers
/// of two from 8 or their whole size, summed dimensions blocks of 128, batch dimensions 1. Errors: sizes missing, nothing fits.
[[nodiscard]] Result<Sizes> best_tile(const Program& program, const KernelWork& kernel, double capacity);

}  // namespace roofline::core
