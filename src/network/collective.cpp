#include "network/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "network/leaf.hpp"

namespace roofline {

namespace {

std::int64_t product(const std::vector<Lane>& lanes) {
    std::int64_t n = 1;
    for (const Lane& lane : lanes) n *= lane.size;
    return n;
}

// In the order of the wires. A part that goes on where another ends is one with it: they share every link.
std::vector<Lane> joined(std::vector<Lane> lanes) {
    std::sort(lanes.begin(), lanes.end(),
              [](const Lane& a, const Lane& b) { return a.axis != b.axis ? a.axis < b.axis : a.stride < b.stride; });
    std::vector<Lane> result;
    for (const Lane& lane : lanes) {
        if (!result.empty() && result.back().axis == lane.axis &&
            result.back().stride * result.back().size == lane.stride) {
            result.back().size *= lane.size;
            result.back().wrapped = lane.wrapped;
        } else {
            result.push_back(lane);
        }
    }
    return result;
}

Rational larger(const Rational& a, const Rational& b) { return a < b ? b : a; }
Rational lesser(const Rational& a, const Rational& b) { return a < b ? a : b; }

/// The lanes of a group on one torus; loads for each byte of the array on this tier, by sets of the torus's axes.
class Torus {
public:
    Torus(std::vector<Lane> lanes, const SliceTier& tier)
        : lanes_(joined(std::move(lanes))), tier_(tier), n_(product(lanes_)) {}

    [[nodiscard]] std::vector<Rational> gather() const {
        std::vector<Rational> cuts(sets() - 1, Rational(0));
        for (std::size_t lanes = 1; lanes < (std::size_t{1} << lanes_.size()); ++lanes) {
            std::int64_t members = 1;
            for (std::size_t i = 0; i < lanes_.size(); ++i) {
                if ((lanes >> i & 1U) != 0) members *= lanes_[i].size;
            }
            add(cuts, lanes, Rational(members - 1, n_));
        }
        return cuts;
    }

    [[nodiscard]] std::vector<Rational> all_to_all() const {
        std::vector<Rational> cuts(sets() - 1, Rational(0));
        std::vector<Rational> over(lanes_.size(),
                                   Rational(0));  // what crosses the middle of a lane, for each line of it
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            const std::int64_t half = lanes_[i].size / 2;
            over[i] = Rational(half, lanes_[i].size) * Rational(lanes_[i].size - half, n_);
        }
        for (std::size_t lanes = 1; lanes < (std::size_t{1} << lanes_.size()); ++lanes) {
            Rational sum(0);
            for (std::size_t i = 0; i < lanes_.size(); ++i) {
                if ((lanes >> i & 1U) != 0) sum += over[i];
            }
            add(cuts, lanes, sum);
        }
        return cuts;
    }

    // V/n leaves each chip along the group's axes, by one link.
    [[nodiscard]] std::vector<Rational> permute() const {
        std::vector<Rational> cuts(sets() - 1, Rational(0));
        const std::size_t all = (std::size_t{1} << lanes_.size()) - 1;
        add(cuts, all, Rational(1, n_) * ways_of(all));
        return cuts;
    }

    // Every axis a ring, whatever the wiring, and nothing but it at work.
    [[nodiscard]] Rational textbook_gather() const { return Rational(1, 2 * static_cast<std::int64_t>(lanes_.size())); }

    // Hops that follow one another when each axis is gone through once.
    [[nodiscard]] Rational hops(bool textbook) const {
        Rational sum(0);
        for (const Lane& lane : lanes_) {
            const Rational steps = textbook       ? Rational(lane.size, 2)
                                   : lane.wrapped ? Rational(lane.size / 2)
                                                  : Rational(lane.size - 1);
            sum += steps * Rational(lane.stride);
        }
        return sum;
    }

private:
    // Links into a chip along a lane. Neighbours that are `stride` chips apart share the wires between with as many others.
    // Two chips side by side have one link; two that lie across a ring reach each other either way.
    [[nodiscard]] Rational ways(const Lane& lane) const {
        const bool both = lane.wrapped && (lane.size > 2 || lane.stride > 1);
        return Rational(both ? 2 : 1) / Rational(lane.stride);
    }

    [[nodiscard]] std::size_t sets() const { return std::size_t{1} << tier_.shape.size(); }

    // `bytes` must go over these lanes: a demand on every set of axes that holds theirs, which its other axes help to carry.
    void add(std::vector<Rational>& cuts, std::size_t lanes, const Rational& bytes) const {
        std::size_t axes = 0;
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            if ((lanes >> i & 1U) != 0) axes |= std::size_t{1} << lanes_[i].axis;
        }
        const Rational own = ways_of(lanes);
        for (std::size_t set = axes; set < sets(); ++set) {
            if ((set & axes) != axes) continue;
            Rational ways = own;
            for (std::size_t axis = 0; axis < tier_.shape.size(); ++axis) {
                const bool helps = (set >> axis & 1U) != 0 && (axes >> axis & 1U) == 0 && tier_.shape[axis] > 1;
                if (helps) ways += Rational(tier_.wrapped[axis] && tier_.shape[axis] > 2 ? 2 : 1);
            }
            cuts[set - 1] = larger(cuts[set - 1], bytes / ways);
        }
    }

    // Links into a chip along the lanes of a set. Parts of one axis share its links: the innermost has the most of them.
    [[nodiscard]] Rational ways_of(std::size_t set) const {
        Rational sum(0);
        for (std::size_t i = 0; i < lanes_.size();) {
            const std::size_t axis = lanes_[i].axis;
            std::optional<Lane> innermost;
            for (; i < lanes_.size() && lanes_[i].axis == axis; ++i) {
                if ((set >> i & 1U) == 0) continue;
                if (innermost) {
                    innermost->size *= lanes_[i].size;
                    innermost->wrapped = innermost->wrapped || lanes_[i].wrapped;
                } else {
                    innermost = lanes_[i];
                }
            }
            if (innermost) sum += ways(*innermost);
        }
        return sum;
    }

    std::vector<Lane> lanes_;
    const SliceTier& tier_;
    std::int64_t n_;
};

// What one of n equal parties sends at the least, whatever the wires; chips, or leaves with all chips under them.
Rational sent_by_one(CollectiveKind kind, const Rational& n) {
    const Rational others = (n - Rational(1)) / n;
    switch (kind) {
        case CollectiveKind::all_gather:
        case CollectiveKind::reduce_scatter:
            return others;
        case CollectiveKind::all_reduce:
            return Rational(2) * others;
        case CollectiveKind::all_to_all:
            return others / n;
        case CollectiveKind::permute:
            return Rational(1) / n;
        case CollectiveKind::send:
        case CollectiveKind::gather:
        case CollectiveKind::scatter:
        case CollectiveKind::broadcast:
            break;
    }
    return Rational(0);
}

TierLoad on_torus(CollectiveKind kind, const Torus& torus, bool textbook, double hop_s) {
    TierLoad load;
    const int rounds = kind == CollectiveKind::all_reduce ? 2 : 1;
    // Who sends to whom is not known of a permute: it may be as between neighbours.
    const double hops = kind == CollectiveKind::permute ? 1 : torus.hops(textbook).to_double();
    load.latency_s = rounds * hops * hop_s;
    if (textbook && kind != CollectiveKind::permute) {
        load.link_bytes = torus.textbook_gather() * Rational(rounds);
        if (kind == CollectiveKind::all_to_all) load.link_bytes = load.link_bytes / Rational(4);
        return load;
    }
    load.cuts = kind == CollectiveKind::all_to_all ? torus.all_to_all()
                : kind == CollectiveKind::permute  ? torus.permute()
                                                   : torus.gather();
    for (Rational& cut : load.cuts) {
        cut = cut * Rational(rounds);
        load.link_bytes = larger(load.link_bytes, cut);
    }
    return load;
}

// The same through a switch. Where it adds up, each chip gives V to be summed and takes V: a NIC sends and receives just that;
// chips that read each other's memory fetch the sum of their 1/n and hand it to all.
Rational through_switch(CollectiveKind kind, const Rational& n, const NetworkTier& tier, bool textbook) {
    Rational load = sent_by_one(kind, n);
    if (textbook && kind != CollectiveKind::permute) load = load * n / (n - Rational(1));
    if (kind != CollectiveKind::all_reduce || !tier.in_network_reduction) return load;
    return lesser(load, tier.topology == "nic" ? Rational(1) : Rational(1) + Rational(1) / n);
}

// Most members of a group under one leaf.
std::int64_t under_one_leaf(const std::vector<Lane>& lanes, std::int64_t leaf) {
    std::int64_t members = 1;
    for (const Lane& lane : joined(lanes)) members *= std::min(lane.size, (leaf - 1) / lane.stride + 1);
    return members;
}

// Steps that follow one another are not published for switches: latency is that of one step, each way. Between leaves it is
// the leaves that exchange, each for its q members, over ways out that are narrower than their ports. A permute need not leave
// its leaf.
TierLoad on_switch(CollectiveKind kind, const std::vector<Lane>& lanes, const NetworkTier& tier,
                   const std::optional<Leaves>& leaves, bool textbook, double step_s) {
    const Rational n = product(lanes);
    TierLoad load;
    load.link_bytes = through_switch(kind, n, tier, textbook);
    if (leaves && kind != CollectiveKind::permute) {
        const Rational q = under_one_leaf(lanes, leaves->members);
        if (q < n) {
            load.link_bytes =
                larger(load.link_bytes, through_switch(kind, n / q, tier, textbook) / q * leaves->narrowing);
        }
    }
    load.latency_s = (kind == CollectiveKind::all_reduce ? 2 : 1) * step_s;
    return load;
}

// Every pair has a link of its own: a member's share goes to each of the others at once.
TierLoad on_full_mesh(CollectiveKind kind, std::int64_t n, double step_s) {
    TierLoad load;
    load.link_bytes = kind == CollectiveKind::all_to_all   ? Rational(1, n) / Rational(n)
                      : kind == CollectiveKind::all_reduce ? Rational(2, n)
                                                           : Rational(1, n);
    load.latency_s = (kind == CollectiveKind::all_reduce ? 2 : 1) * step_s;
    return load;
}

// What the groups of tier `i` hold of each byte of the whole array. What is gathered or summed is divided by the members inside.
// An exchange over a tier of switches goes straight to its chip, whatever its place in the node there, so that the tiers inside
// carry what stays in them; over a torus outside, only to the chips of the same place.
Rational share_of(const Slice& slice, CollectiveKind kind, const std::vector<std::vector<Lane>>& by_tier, std::size_t i,
                  std::int64_t members) {
    std::int64_t inside = 1;
    for (std::size_t j = 0; j < i; ++j) inside *= product(by_tier[j]);
    const std::int64_t n = product(by_tier[i]);
    if (kind == CollectiveKind::permute) return Rational(n, members);
    if (kind != CollectiveKind::all_to_all) return Rational(1, inside);
    bool straight = true;
    for (std::size_t j = i + 1; j < by_tier.size(); ++j) {
        straight = straight && (by_tier[j].empty() || !has_axes(slice.network(slice.tiers[j])));
    }
    return Rational(n, members) * (straight ? Rational(inside * n, members) : Rational(1));
}

}  // namespace

Result<CollectiveLoad> collective_load(const Slice& slice, CollectiveKind kind,
                                       const std::vector<const PlacedAxis*>& axes, const CollectiveOptions& options) {
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
        const double step_s = tier.hop_latency.value ? tier.hop_latency.value->value : 0;
        const Rational share = share_of(slice, kind, by_tier, i, result.members);
        TierLoad load = has_axes(tier) ? on_torus(kind, Torus(by_tier[i], slice.tiers[i]), options.textbook, step_s)
                        : pairs_have_links(tier)
                            ? on_full_mesh(kind, n, step_s)
                            : on_switch(kind, by_tier[i], tier, leaves_of(slice, i), options.textbook, step_s);
        load.tier = i;
        load.members = n;
        load.link_bytes = load.link_bytes * share;
        for (Rational& cut : load.cuts) cut = cut * share;
        load.sent_bytes = sent_by_one(kind, Rational(n)) * share;
        result.tiers.push_back(load);
    }
    return result;
}

}  // namespace roofline
