// The innermost loops of matmuls for each processor: a tile of sums that stays in registers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace roofline::core {

/// Data to prefetch while something else is multiplied: `step` bytes per iteration of the loop.
struct Ahead {
    const void* at = nullptr;
    std::int64_t step = 0;
};

/// Adds the matmul of a and b over `depth` to c[rows, width], whose rows are `stride` apart. Elements lie in groups
/// along the depth, which is a multiple of the group size: a[depth / group][rows][group], b[depth /
/// group][width][group]. `ahead` is prefetched at one step per group.
template <class Sum, class A, class B>
struct RegisterTile {
    using Multiply = void (*)(const A* a, const B* b, Sum* c, std::int64_t stride, std::int64_t depth,
                              const Ahead& ahead);
    const char* instructions = "";      ///< "AVX-512"
    std::span<const Multiply> by_rows;  ///< for one row, two rows, ... as many as fit into registers
    std::int64_t width = 1;
    /// Offset that is added to every element of a if the instruction needs unsigned operands. The correction follows b:
    /// for each column, -lift times the sum of its elements, as Sums.
    std::int64_t lift = 0;

    [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(by_rows.size()); }
};

using F32Tile = RegisterTile<float, float, float>;
using F64Tile = RegisterTile<double, double, double>;
using Int32Tile = RegisterTile<std::int32_t, std::int32_t, std::int32_t>;
using PairTile = RegisterTile<std::int32_t, std::int16_t, std::int8_t>;  ///< groups of 2
using QuadTile = RegisterTile<std::int32_t, std::uint8_t, std::int8_t>;  ///< groups of 4

/// The tiles that this processor supports, fastest first. The lists of the last two functions may be empty.
[[nodiscard]] std::vector<F32Tile> f32_tiles();
[[nodiscard]] std::vector<F64Tile> f64_tiles();
[[nodiscard]] std::vector<Int32Tile> int32_tiles();
[[nodiscard]] std::vector<PairTile> pair_tiles();
[[nodiscard]] std::vector<QuadTile> quad_tiles();

}  // namespace roofline::core
