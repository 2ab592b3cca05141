// Compares every tile that this processor supports with plain loops, for every number of rows.
#include "measure/run/register_tile.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

using namespace roofline::core;

namespace {

/// Integers small enough for every dtype to hold all sums exactly.
template <class T>
T number(std::int64_t i) {
    return static_cast<T>(i * 7 % 11 - 5);
}

template <class Sum, class A, class B>
void multiplies(const RegisterTile<Sum, A, B>& tile, std::int64_t group, std::int64_t depth) {
    CAPTURE(tile.instructions);
    CAPTURE(depth);
    const std::int64_t width = tile.width;
    const std::int64_t stride = width + 3;
    for (std::int64_t rows = 1; rows <= tile.rows(); ++rows) {
        CAPTURE(rows);
        std::vector<A> a(static_cast<std::size_t>(depth * rows));
        std::vector<B> b(static_cast<std::size_t>(depth * width) + static_cast<std::size_t>(width) * sizeof(Sum));
        std::vector<Sum> c(static_cast<std::size_t>(stride * rows));
        std::vector<Sum> lifts(static_cast<std::size_t>(width));
        std::vector<Sum> right = c;
        for (std::size_t i = 0; i < c.size(); ++i) right[i] = c[i] = number<Sum>(static_cast<std::int64_t>(i) + 3);
        for (std::int64_t k = 0; k < depth; ++k) {
            for (std::int64_t i = 0; i < rows; ++i)
                a[static_cast<std::size_t>((k / group * rows + i) * group + k % group)] =
                    static_cast<A>(number<Sum>(k * 5 + i) + static_cast<Sum>(tile.lift));
            for (std::int64_t j = 0; j < width; ++j) {
                b[static_cast<std::size_t>((k / group * width + j) * group + k % group)] = number<B>(k * 3 + j);
                lifts[static_cast<std::size_t>(j)] -= static_cast<Sum>(tile.lift) * number<Sum>(k * 3 + j);
                for (std::int64_t i = 0; i < rows; ++i)
                    right[static_cast<std::size_t>(i * stride + j)] += number<Sum>(k * 5 + i) * number<Sum>(k * 3 + j);
            }
        }
        std::memcpy(b.data() + depth * width, lifts.data(), lifts.size() * sizeof(Sum));
        tile.by_rows[static_cast<std::size_t>(rows - 1)](a.data(), b.data(), c.data(), stride, depth, {b.data(), 0});
        CHECK(c == right);
    }
}

}  // namespace

TEST_CASE("run: register tiles compute the right sums for every number of rows") {
    REQUIRE_FALSE(f32_tiles().empty());
    for (const std::int64_t depth : {1, 2, 7, 64}) {
        for (const F32Tile& tile : f32_tiles()) multiplies(tile, 1, depth);
        for (const F64Tile& tile : f64_tiles()) multiplies(tile, 1, depth);
        for (const Int32Tile& tile : int32_tiles()) multiplies(tile, 1, depth);
        for (const PairTile& tile : pair_tiles()) multiplies(tile, 2, depth * 2);
        for (const QuadTile& tile : quad_tiles()) multiplies(tile, 4, depth * 4);
    }
}

TEST_CASE("run: 8-bit numbers at the ends of their range do not saturate") {
    for (const QuadTile& tile : quad_tiles()) {
        const std::int64_t depth = 1024;
        std::vector<std::uint8_t> a(static_cast<std::size_t>(depth), static_cast<std::uint8_t>(-127 + tile.lift));
        std::vector<std::int8_t> b(static_cast<std::size_t>((depth + 4) * tile.width), -127);
        const std::vector<std::int32_t> lifts(static_cast<std::size_t>(tile.width),
                                              static_cast<std::int32_t>(tile.lift) * 127 * 1024);
        std::memcpy(b.data() + depth * tile.width, lifts.data(), lifts.size() * sizeof lifts[0]);
        std::vector<std::int32_t> c(static_cast<std::size_t>(tile.width));
        tile.by_rows[0](a.data(), b.data(), c.data(), tile.width, depth, {b.data(), 0});
        CHECK(c == std::vector<std::int32_t>(static_cast<std::size_t>(tile.width), 127 * 127 * 1024));
    }
}
