// The keys of a tier that say how its leaf switches are joined: leaf, rails, oversubscription.
#pragma once

#include <vector>

#include "machine/reader.hpp"

namespace roofline::core {

/// Reads them into `tier`, whose other keys are read. `inner`: the tiers before it in the file. Contradictions are faults: keys
/// of which one says nothing without another; a topology without leaves; a leaf larger than the tier, or that cuts a node;
/// rails that do not divide a node; a way out that is wider than the leaf.
void read_leaf(Reader& entry, const std::vector<NetworkTier>& inner, NetworkTier& tier);

}  // namespace roofline::core
