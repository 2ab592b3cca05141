#include "machine/parse_leaf.hpp"

#include <fmt/format.h>

#include <charconv>

namespace roofline::core {

namespace {

constexpr std::int64_t max_chips = 1'000'000'000;

std::optional<std::int64_t> whole(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < 1 || number > 1'000'000)
        return std::nullopt;
    return number;
}

// Parses "3:1", the rate of the ports to that of the uplinks.
void read_ratio(Reader& entry, NetworkTier& tier) {
    const std::string text = entry.text("oversubscription");
    if (text.empty()) return;
    const std::size_t colon = text.find(':');
    const auto ports = whole(std::string_view(text).substr(0, colon));
    const auto uplinks = colon == std::string::npos ? std::nullopt : whole(std::string_view(text).substr(colon + 1));
    if (!ports || !uplinks) {
        entry.fault(
            "oversubscription", "wrong_type",
            fmt::format("{} must be a ratio of two whole numbers up to a million", entry.of("oversubscription")),
            "\"3:1\": a leaf's ports have three times the rate of its uplinks");
        return;
    }
    if (*ports < *uplinks) {
        entry.fault("oversubscription", "out_of_range",
                    fmt::format("{} is below 1:1: the uplinks of a leaf would be faster than all its ports",
                                entry.of("oversubscription")),
                    fmt::format("write \"{}:{}\" if the two are swapped, or \"1:1\" if nothing is oversubscribed",
                                *uplinks, *ports));
        return;
    }
    tier.oversubscription = Rational(*ports, *uplinks);
}

/// The chips of a node: what the inner tiers connect.
struct NodeChips {
    std::int64_t chips = 1;
    bool cut = false;                     ///< a slice of a torus, which may have any size
    const NetworkTier* unsaid = nullptr;  ///< a tier that does not say how many chips it connects
};

NodeChips node_of(const std::vector<NetworkTier>& inner) {
    NodeChips node;
    for (const NetworkTier& tier : inner) {
        if (tier.topology == "none" || tier.domain == 1) continue;
        for (const std::string_view axes : {"torus2d", "torus3d", "ring", "mesh2d"})
            node.cut = node.cut || tier.topology == axes;
        if (tier.domain == 0 && node.unsaid == nullptr) node.unsaid = &tier;
        if (__builtin_mul_overflow(node.chips, std::max<std::int64_t>(tier.domain, 1), &node.chips))
            node.chips = max_chips;
    }
    return node;
}

void check_rails(Reader& entry, const NodeChips& node, const NetworkTier& tier) {
    if (node.cut || node.unsaid != nullptr) {
        entry.fault(
            "rails", "contradiction",
            fmt::format("{} spreads the chips of a node, but {}", entry.of("rails"),
                        node.cut ? "slices of a torus have no fixed size"
                                 : fmt::format("`{}` does not say how many chips it connects", node.unsaid->id)),
            node.cut ? "remove `rails`" : fmt::format("give `domain` of `{}`", node.unsaid->id));
    } else if (node.chips % tier.rails != 0) {
        entry.fault(
            "rails", "contradiction",
            fmt::format("{} = {} does not divide the {} chips of a node", entry.of("rails"), tier.rails, node.chips),
            fmt::format("rails = {}, one per chip", node.chips));
    }
}

void check_leaf(Reader& entry, const NodeChips& node, const NetworkTier& tier) {
    if (tier.domain > 0 && tier.leaf > tier.domain) {
        entry.fault("leaf", "contradiction",
                    fmt::format("{} = {} is larger than the tier, which connects {} chips", entry.of("leaf"), tier.leaf,
                                tier.domain),
                    fmt::format("at most {}", tier.domain));
        return;
    }
    if (node.cut || node.unsaid != nullptr || node.chips % tier.rails != 0) return;
    const std::int64_t ports = node.chips / tier.rails;
    if (tier.leaf % ports == 0 || ports % tier.leaf == 0) return;
    entry.fault("leaf", "contradiction",
                fmt::format("{} = {} is not a whole number of nodes, each of which has {} port{} on a leaf",
                            entry.of("leaf"), tier.leaf, ports, ports == 1 ? "" : "s"),
                fmt::format("a multiple of {}", ports));
}

}  // namespace

void read_leaf(Reader& entry, const std::vector<NetworkTier>& inner, NetworkTier& tier) {
    tier.leaf = entry.whole("leaf", 1, max_chips, 0);
    tier.rails = entry.whole("rails", 1, max_chips, 1);
    read_ratio(entry, tier);
    for (const std::string_view key : {"leaf", "rails", "oversubscription"}) {
        if (!entry.has(key)) continue;
        if (tier.topology != "switch" && tier.topology != "nic") {
            entry.fault(key, "contradiction", fmt::format("{} applies only to tiers with leaf switches", entry.of(key)),
                        "topology = \"switch\" or \"nic\"");
            return;
        }
        for (const std::string_view other : {"leaf", "oversubscription"}) {
            if (entry.has(other)) continue;
            entry.fault(key, "missing_key", fmt::format("{} has no effect without `{}`", entry.of(key), other),
                        other == "leaf"
                            ? "leaf = 32, the number of chips whose ports share a leaf switch"
                            : "oversubscription = \"1:1\" if the uplinks of a leaf are as fast as its ports");
            return;
        }
    }
    if (tier.leaf == 0) return;
    const NodeChips node = node_of(inner);
    if (tier.rails > 1) check_rails(entry, node, tier);
    check_leaf(entry, node, tier);
}

}  // namespace roofline::core
