// Parts of arrays: which one a chip holds, and copying between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout/sharding.hpp"

namespace roofline::core {

/// A range of each dimension of an array. The elements of it lie row by row, without gaps.
struct Box {
    std::vector<std::int64_t> start;
    std::vector<std::int64_t> size;

    [[nodiscard]] std::size_t elements() const;
    bool operator==(const Box&) const = default;
};

/// How chips have an array: each its share, and of one dimension places of others before it or behind it, as far as there are any.
struct HeldShard {
    Sharding lies;
    std::size_t dim = 0;
    std::int64_t before = 0;
    std::int64_t behind = 0;

    [[nodiscard]] bool edged() const { return before + behind > 0; }
    [[nodiscard]] HeldShard without_edge() const { return {lies}; }
    bool operator==(const HeldShard&) const = default;
};

/// What chip `chip` (numbered along the mesh, the last axis fastest) holds of an array of these sizes, each of which divides by
/// its shares; nothing when another one holds all of it.
[[nodiscard]] Box box_of(const Sharding& sharding, const std::vector<std::int64_t>& sizes, const System& system,
                         std::int64_t chip);

[[nodiscard]] Box box_of(const HeldShard& held, const std::vector<std::int64_t>& sizes, const System& system,
                         std::int64_t chip);

/// Where a chip is on an axis of the mesh.
[[nodiscard]] std::int64_t coordinate(const System& system, std::int64_t chip, std::size_t axis);

/// What two boxes have in common; of no elements where they have nothing.
[[nodiscard]] Box common(const Box& a, const Box& b);

/// Copies what lies in `part` from the array of one box to that of another; it lies in both.
void copy_part(std::byte* to, const Box& to_box, const std::byte* from, const Box& from_box, const Box& part,
               std::size_t element_bytes);

}  // namespace roofline::core
