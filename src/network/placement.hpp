// Where the axes of a mesh lie on the wires of a slice.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "network/slice.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// A part of a mesh axis: so many members of one tier, or of one axis of a torus.
struct Lane {
    std::size_t tier = 0;     ///< index in slice.tiers
    std::size_t axis = 0;     ///< of the tier's shape
    std::int64_t size = 0;    ///< members
    std::int64_t stride = 1;  ///< chips between neighbours: 1, or the size of the parts inside this one
    bool wrapped = false;     ///< closes into a ring

    bool operator==(const Lane&) const = default;
};

/// Layouts are searched over subsets of a mesh's axes.
constexpr std::size_t most_mesh_axes = 8;

struct PlacedAxis {
    std::string name;
    std::int64_t size = 1;
    std::vector<Lane> lanes;  ///< innermost first; their sizes multiply to `size`
};

/// Whether the order of a mesh's axes says which lie innermost.
enum class MeshOrder { any, innermost_first };

/// Places mesh axes. First those whose wires are given, on these, innermost first, as much of each as the size takes. Then, in
/// the order given, the others on what is left of the slice: on a whole torus axis or tier of that length, else on several
/// whole ones in order whose lengths multiply to it, else on a part of what is left from the innermost on. Where the order is
/// from the innermost, an axis is whole only on the innermost tier with something left, and one that does not fit into that takes
/// what is left of it and goes on further out. Every chip of the
/// slice must be used. Errors: a mesh that is not the slice; sizes below 1; wires that the slice lacks, or that are too short.
[[nodiscard]] Result<std::vector<PlacedAxis>> place_mesh(const Slice& slice, const std::vector<MeshAxis>& mesh,
                                                         MeshOrder order = MeshOrder::any);

/// "ici.0, unwrapped", "ici.0, a ring; ici.1 x 4 of 16, unwrapped", "nvlink x 4 of 8; ib"; without lanes "one chip".
[[nodiscard]] std::string place_text(const Slice& slice, const PlacedAxis& axis);

}  // namespace roofline::core
