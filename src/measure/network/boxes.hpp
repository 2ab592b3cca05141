// Boxes are parts of arrays: the part that a chip holds, and copies between such parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout/sharding.hpp"

namespace roofline::core {

/// A range of each dimension of an array. Its elements lie row by row, without gaps.
struct Box {
    std::vector<std::int64_t> start;
    std::vector<std::int64_t> size;

    [[nodiscard]] std::size_t elements() const;
    bool operator==(const Box&) const = default;
};

/// How chips hold an array: each has its shard and, along one dimension, a halo of neighbouring places before or after
/// it as far as they exist.
struct HeldShard {
    Sharding lies;
    std::size_t dim = 0;
    std::int64_t before = 0;
    std::int64_t behind = 0;

    [[nodiscard]] bool has_halo() const { return before + behind > 0; }
    [[nodiscard]] HeldShard without_halo() const { return {lies}; }
    bool operator==(const HeldShard&) const = default;
};

/// The part that chip `chip` (numbered along the mesh, last axis fastest) holds of an array of these sizes, which must
/// be divisible by the number of shards; empty if a single other chip holds the array.
[[nodiscard]] Box box_of(const Sharding& sharding, const std::vector<std::int64_t>& sizes, const System& system,
                         std::int64_t chip);

[[nodiscard]] Box box_of(const HeldShard& held, const std::vector<std::int64_t>& sizes, const System& system,
                         std::int64_t chip);

/// Position of a chip along an axis of the mesh.
[[nodiscard]] std::int64_t coordinate(const System& system, std::int64_t chip, std::size_t axis);

/// Intersection of two boxes; it has no elements if they are disjoint.
[[nodiscard]] Box common(const Box& a, const Box& b);

/// Copies the elements of `part` from the array of one box to the array of another; both boxes contain `part`.
void copy_part(std::byte* to, const Box& to_box, const std::byte* from, const Box& from_box, const Box& part,
               std::size_t element_bytes);

}  // namespace roofline::core
