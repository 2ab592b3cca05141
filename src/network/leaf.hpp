// Leaf switches of a tier: what stays under one of them, and how narrow the way out is.
#pragma once

#include <cstdint>
#include <optional>

#include "algebra/rational.hpp"
#include "network/slice.hpp"

namespace roofline::core {

/// The leaves of one tier of a slice, as far as the slice uses them. A member of the tier is a node: the chips inside of it.
struct Leaves {
    std::int64_t members = 1;  ///< of the tier, whose ports of one rail lie under one leaf switch
    Rational narrowing;        ///< rate of the slice's ports under a leaf over the rate out of it
    Rational uplinks;          ///< out of all rails' leaves of those members together, in ports
};

/// Empty for a tier whose file does not say how much narrower the way out of a leaf is. Of a node that is cut out of a torus all
/// ports belong to the slice; of one that is sold whole, those of its other chips are taken as idle.
[[nodiscard]] std::optional<Leaves> leaves_of(const Slice& slice, std::size_t tier);

}  // namespace roofline::core
