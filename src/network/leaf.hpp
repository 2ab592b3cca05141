// Leaf switches of a tier: which members share one, and how narrow its uplinks are.
#pragma once

#include <cstdint>
#include <optional>

#include "algebra/rational.hpp"
#include "network/slice.hpp"

namespace roofline::core {

/// The leaves of one tier of a slice, as far as the slice uses them. A member of the tier is a node, that is, the chips
/// inside of it.
struct Leaves {
    std::int64_t members = 1;  ///< of the tier: those whose ports of one rail are under one leaf switch
    Rational narrowing;        ///< rate of the slice's ports under a leaf over the rate of the leaf's uplinks
    Rational uplinks;          ///< of the leaves of all rails of those members together, in ports
};

/// Returns the leaves of a tier; empty if its file does not give their oversubscription. If a node is cut out of a
/// torus, all its ports belong to the slice; if it is sold whole, the ports of its other chips are assumed to be idle.
[[nodiscard]] std::optional<Leaves> leaves_of(const Slice& slice, std::size_t tier);

}  // namespace roofline::core
