// The placement of mesh axes on the links of a slice.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "network/slice.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// A part of a mesh axis: a number of members of one tier, or of one axis of a torus.
struct Lane {
    std::size_t tier = 0;     ///< index in slice.tiers
    std::size_t axis = 0;     ///< index in the tier's shape
    std::int64_t size = 0;    ///< number of members
    std::int64_t stride = 1;  ///< chips between neighbours: 1, or the size of the parts inside this one
    bool wrapped = false;     ///< closes into a ring

    bool operator==(const Lane&) const = default;
};

/// The maximum number of mesh axes. Layouts are searched over subsets of them.
constexpr std::size_t max_mesh_axes = 8;

struct PlacedAxis {
    std::string name;
    std::int64_t size = 1;
    std::vector<Lane> lanes;  ///< innermost first; their sizes multiply to `size`
};

/// Whether the order of a mesh's axes says which ones are innermost.
enum class MeshOrder { any, innermost_first };

/// Places mesh axes. Axes whose links are given are placed first, innermost first, and take as much of each torus axis
/// or tier as their size needs. Then the others follow in the order given: on a whole torus axis or tier of that length
/// if one is free; otherwise on several whole ones in order whose lengths multiply to it; otherwise on a part of what
/// is free, from the innermost on. If the order is from the innermost, an axis is whole only on the innermost tier that
/// is not full, and an axis that does not fit into that takes the rest of it and continues on outer tiers. Every chip
/// of the slice must be used. Errors: a mesh that does not match the slice; sizes below 1; links that the slice lacks,
/// or that are too short.
[[nodiscard]] Result<std::vector<PlacedAxis>> place_mesh(const Slice& slice, const std::vector<MeshAxis>& mesh,
                                                         MeshOrder order = MeshOrder::any);

/// Returns "ici.0, unwrapped", "ici.0, a ring; ici.1 x 4 of 16, unwrapped", "nvlink x 4 of 8; ib"; without lanes "one
/// chip".
[[nodiscard]] std::string place_text(const Slice& slice, const PlacedAxis& axis);

}  // namespace roofline::core
