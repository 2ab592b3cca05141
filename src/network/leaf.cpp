#include "network/leaf.hpp"

#include <algorithm>

namespace roofline::core {

std::optional<Leaves> leaves_of(const Slice& slice, std::size_t tier) {
    const NetworkTier& network = slice.network(slice.tiers[tier]);
    if (network.leaf == 0) return std::nullopt;
    std::int64_t inside = 1;
    for (std::size_t i = 0; i < tier; ++i) inside *= slice.tiers[i].members();
    std::int64_t node = 1;
    bool cut = false;
    for (std::size_t i = 0; i < slice.tiers[tier].tier; ++i) {
        const NetworkTier& inner = slice.machine.network[i];
        if (!joins_chips(inner)) continue;
        cut = cut || has_axes(inner);
        node *= std::max<std::int64_t>(inner.domain, 1);
    }
    if (cut) node = inside;
    const std::int64_t rails = network.rails;
    const std::int64_t ports = std::max<std::int64_t>(node / rails, 1);  // ports of a node under one leaf
    const std::int64_t used = (inside - 1) / rails + 1;
    Leaves leaves;
    leaves.members = (network.leaf - 1) / ports + 1;
    leaves.narrowing = network.oversubscription * Rational(used, ports);
    leaves.uplinks = Rational(leaves.members) * Rational(node) / network.oversubscription;
    return leaves;
}

}  // namespace roofline::core
