// A slice: the number of members of a machine along each tier of its network, and which torus axes close into rings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "machine/machine.hpp"

namespace roofline::core {

/// One tier of a slice with more than one member.
struct SliceTier {
    std::size_t tier = 0;             ///< index in machine.network
    std::vector<std::int64_t> shape;  ///< on a torus: its axes, in the order of the machine's pod; otherwise one number
    std::vector<bool> wrapped;        ///< by axis: it closes into a ring; otherwise a single `false`

    [[nodiscard]] std::int64_t members() const;
};

struct Slice {
    Machine machine;
    std::vector<SliceTier> tiers;    ///< innermost first; empty for a single chip
    std::vector<std::string> notes;  ///< about sizes larger than the available ones, and unknown wiring rules

    [[nodiscard]] std::int64_t chips() const;
    [[nodiscard]] const NetworkTier& network(const SliceTier& tier) const { return machine.network[tier.tier]; }
    /// Whether a resource of this id is one of the slice's tiers.
    [[nodiscard]] bool has_network(std::string_view id) const;
    [[nodiscard]] std::string shape_text() const;  ///< "4x4", "16x16x16*4", "8x16"; "1" for a single chip
};

/// True unless the tier only says that there is no network, or lies within one chip (the fabric of a wafer).
[[nodiscard]] bool joins_chips(const NetworkTier& tier);

/// True for the topologies whose chips sit on axes: torus2d, torus3d, ring, mesh2d.
[[nodiscard]] bool has_axes(const NetworkTier& tier);

/// True for the topologies whose chips have a link to each other: full_mesh, pair.
[[nodiscard]] bool pairs_have_links(const NetworkTier& tier);

/// Returns the number of links between the two halves of a tier, in one direction: across the narrowest cut of a torus
/// (two for each line of chips that is a ring), the ports of half of the chips on a switch, or all links between two
/// halves of a full mesh.
[[nodiscard]] std::int64_t bisection_links(const Slice& slice, const SliceTier& tier);

/// Builds a slice. `shape` is the text behind the colon of `tpu-v5e:4x4`: on a torus the length of each axis
/// ("16x20x28"; an axis that is not given has length 1), with `*4` the number of such slices, connected by the next
/// tier; otherwise the members of each tier from the innermost ("8x16": 8 in a node, 16 nodes). Errors: no numbers;
/// more axes than the torus has; sizes beyond the pod or the domain; lengths that the wiring does not allow (5x3); a
/// machine without a network; topologies that have no cost model.
[[nodiscard]] Result<Slice> make_slice(Machine machine, std::string_view shape);

}  // namespace roofline::core
