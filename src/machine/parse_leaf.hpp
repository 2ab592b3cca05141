// Reads the keys of a tier that describe its leaf switches: leaf, rails, oversubscription.
#pragma once

#include <vector>

#include "machine/reader.hpp"

namespace roofline::core {

/// Reads the keys into `tier`, whose other keys were read before. `inner` holds the tiers before it in the file. These
/// contradictions are errors: a key without the key that it needs; a topology without leaf switches; a leaf that is
/// larger than the tier or that divides a node; rails that do not divide a node; uplinks that are faster than the
/// ports.
void read_leaf(Reader& entry, const std::vector<NetworkTier>& inner, NetworkTier& tier);

}  // namespace roofline::core
