#include "network/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "network/leaf.hpp"
#include "network/torus_cuts.hpp"

namespace roofline::core {

namespace {

std::int64_t product(const std::vector<Lane>& lanes) {
    std::int64_t n = 1;
    for (const Lane& lane : lanes) n *= lane.size;
    return n;
}

Rational larger(const Rational& a, const Rational& b) { return a < b ? b : a; }
Rational lesser(const Rational& a, const Rational& b) { return a < b ? a : b; }

// The number of sequential hops when each axis is traversed once.
Rational hops_of(const std::vector<Lane>& lanes, bool textbook) {
    Rational sum(0);
    for (const Lane& lane : lanes) {
        const Rational steps = textbook       ? Rational(lane.size, 2)
                               : lane.wrapped ? Rational(lane.size / 2)
                                              : Rational(lane.size - 1);
        sum += steps * Rational(lane.stride);
    }
    return sum;
}

// The least that one of n equal parties sends, for any topology. The parties are chips, or leaves with all chips under
// them.
Rational sent_by_one(CollectiveKind kind, const Rational& n) {
    const Rational of_size = info(kind).bus_factor(n);
    return info(kind).size_of_member() ? of_size / n : of_size;
}

// Textbook estimate: every axis counts as a ring, whatever its wiring, and carries only this collective.
TierLoad textbook_load(CollectiveKind kind, const std::vector<Lane>& lanes, double hop_s) {
    const Rational rounds(info(kind).rounds);
    TierLoad load;
    load.link_bytes = rounds * Rational(1, 2 * static_cast<std::int64_t>(lanes.size()));
    if (kind == CollectiveKind::all_to_all) load.link_bytes = load.link_bytes / Rational(4);
    load.two_phase_bytes = load.link_bytes;
    load.latency_s = (rounds * hops_of(lanes, true)).to_double() * hop_s;
    return load;
}

// Each chip sends V/n to another one. The target is not known, so it may be a neighbour, reached by one link and one
// hop. Whether others use that link then is not known either.
TierLoad to_neighbour(const std::vector<Lane>& lanes, bool textbook, double hop_s) {
    TierLoad load;
    load.link_bytes = load.two_phase_bytes = Rational(1, product(lanes));
    load.latency_s = hop_s;
    if (!textbook) load.over = LoadedLinks::between;
    return load;
}

TierLoad on_torus(CollectiveKind kind, const std::vector<Lane>& lanes, const TorusCuts& torus, double hop_s) {
    TierLoad load;
    load.latency_s = hops_of(lanes, false).to_double() * hop_s;
    load.cuts = torus.loads(kind, lanes);
    for (const Rational& cut : load.cuts) load.link_bytes = larger(load.link_bytes, cut);
    load.two_phase_bytes = load.link_bytes;
    return load;
}

// The same through a switch. If the switch reduces, each chip sends V to be summed and receives V: a NIC sends and
// receives exactly that; chips that read each other's memory fetch the sum of their 1/n and send it to all.
Rational through_switch(CollectiveKind kind, const Rational& n, const NetworkTier& tier, bool textbook) {
    Rational load = sent_by_one(kind, n);
    if (textbook && info(kind).own_stays()) load = load * n / (n - Rational(1));
    if (!info(kind).network_sums() || !tier.in_network_reduction) return load;
    return lesser(load, tier.topology == "nic" ? Rational(1) : Rational(1) + Rational(1) / n);
}

// By hand an all-reduce is a scatter and a gather. When next to nothing is summed, all can get all parts and each add
// them up.
int rounds_of(CollectiveKind kind, bool textbook) { return textbook ? info(kind).rounds : 1; }

// The largest number of members of a group under one leaf.
std::int64_t under_one_leaf(const std::vector<Lane>& lanes, std::int64_t leaf) {
    std::int64_t members = 1;
    for (const Lane& lane : joined(lanes)) members *= std::min(lane.size, (leaf - 1) / lane.stride + 1);
    return members;
}

// Numbers of sequential hops are not published for switches, so the latency is that of one. Between leaves the leaves
// exchange, each for its q members, over uplinks that are narrower than their ports. A permute need not leave its leaf.
TierLoad on_switch(CollectiveKind kind, const std::vector<Lane>& lanes, const NetworkTier& tier,
                   const std::optional<Leaves>& leaves, bool textbook, double hop_s) {
    const Rational n = product(lanes);
    TierLoad load;
    load.link_bytes = through_switch(kind, n, tier, textbook);
    if (leaves && info(kind).ends == Ends::all) {
        const Rational q = under_one_leaf(lanes, leaves->members);
        if (q < n) {
            load.link_bytes =
                larger(load.link_bytes, through_switch(kind, n / q, tier, textbook) / q * leaves->narrowing);
        }
    }
    const bool added_on_the_way = info(kind).network_sums() && tier.in_network_reduction;
    load.two_phase_bytes = added_on_the_way ? sent_by_one(kind, n) : load.link_bytes;
    load.latency_s = rounds_of(kind, textbook) * hop_s;
    return load;
}

// Every pair has a link of its own: a member's part goes to all others at once.
TierLoad on_full_mesh(CollectiveKind kind, std::int64_t n, bool textbook, double hop_s) {
    TierLoad load;
    load.link_bytes = sent_by_one(kind, Rational(n)) / Rational(info(kind).own_stays() ? n - 1 : 1);
    load.two_phase_bytes = load.link_bytes;
    load.latency_s = rounds_of(kind, textbook) * hop_s;
    return load;
}

Status short_enough(const SliceTier& tier) {
    for (const std::int64_t places : tier.shape) {
        if (places <= max_axis_places) continue;
        return fail("too_many_chips",
                    fmt::format("an axis of a torus is analysed position by position, and this one has {}", places),
                    fmt::format("at most {}", max_axis_places));
    }
    return {};
}

// The part of the whole array that the groups of tier `i` hold. For gathers and sums it is divided by the members
// inside. An all-to-all over a tier of switches goes straight to its chip, whatever its place in the node there, so the
// inner tiers carry only what stays in them; over an outer torus it goes only to the chips of the same place.
Rational share_of(const Slice& slice, CollectiveKind kind, const std::vector<std::vector<Lane>>& by_tier, std::size_t i,
                  std::int64_t members) {
    std::int64_t inside = 1;
    for (std::size_t j = 0; j < i; ++j) inside *= product(by_tier[j]);
    const std::int64_t n = product(by_tier[i]);
    if (info(kind).nests()) return Rational(1, inside);
    if (info(kind).ends == Ends::pairs) return Rational(n, members);
    bool straight = true;
    for (std::size_t j = i + 1; j < by_tier.size(); ++j) {
        straight = straight && (by_tier[j].empty() || !has_axes(slice.network(slice.tiers[j])));
    }
    return Rational(n, members) * (straight ? Rational(inside * n, members) : Rational(1));
}

}  // namespace

Result<CollectiveLoad> collective_load(const Slice& slice, CollectiveKind kind,
                                       const std::vector<const PlacedAxis*>& axes, const CollectiveOptions& options,
                                       const std::vector<const PlacedAxis*>& mesh) {
    CollectiveLoad result;
    result.kind = kind;
    std::vector<std::vector<Lane>> by_tier(slice.tiers.size());
    for (const PlacedAxis* axis : axes) {
        result.members *= axis->size;
        for (const Lane& lane : axis->lanes) by_tier[lane.tier].push_back(lane);
    }
    for (std::size_t i = 0; i < by_tier.size(); ++i) {
        if (by_tier[i].empty()) continue;
        const std::int64_t n = product(by_tier[i]);
        const NetworkTier& tier = slice.network(slice.tiers[i]);
        const double hop_s = tier.hop_latency.value ? tier.hop_latency.value->value : 0;
        const Rational share = share_of(slice, kind, by_tier, i, result.members);
        TierLoad load;
        if (has_axes(tier)) {
            ROOFLINE_CHECK(short_enough(slice.tiers[i]));
            const std::vector<Lane> lanes = joined(by_tier[i]);
            load = info(kind).ends == Ends::pairs ? to_neighbour(lanes, options.textbook, hop_s)
                   : options.textbook
                       ? textbook_load(kind, lanes, hop_s)
                       : on_torus(kind, lanes, TorusCuts(slice.tiers[i], i, mesh.empty() ? axes : mesh), hop_s);
        } else if (pairs_have_links(tier)) {
            load = on_full_mesh(kind, n, options.textbook, hop_s);
        } else {
            load = on_switch(kind, by_tier[i], tier, leaves_of(slice, i), options.textbook, hop_s);
        }
        load.tier = i;
        load.members = n;
        load.sent_bytes = through_switch(kind, n, tier, false);
        load.link_bytes *= share;
        load.two_phase_bytes *= share;
        load.sent_bytes *= share;
        for (Rational& cut : load.cuts) cut *= share;
        result.tiers.push_back(std::move(load));
    }
    return result;
}

}  // namespace roofline::core
