#include "network/placing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace roofline::core {

namespace {

// "ici" means all of its axes.
bool called(const Slice& slice, const TakenLink& link, const std::string& name) {
    return name == Placing::name_of(slice, link.tier, link.axis) || name == slice.network(slice.tiers[link.tier]).id;
}

Lane taken_of(TakenLink& link, std::int64_t size) {
    // The rest of a ring closes as well, over the chips between; a part that leaves some out does not.
    Lane lane{link.tier, link.axis, size, link.taken, link.wrapped && link.taken * size == link.size};
    link.taken *= size;
    return lane;
}

}  // namespace

Placing::Placing(const Slice& slice) {
    for (std::size_t tier = 0; tier < slice.tiers.size(); ++tier) {
        const SliceTier& part = slice.tiers[tier];
        for (std::size_t axis = 0; axis < part.shape.size(); ++axis) {
            if (part.shape[axis] > 1) links_.push_back({tier, axis, part.shape[axis], part.wrapped[axis]});
        }
    }
}

Result<std::vector<Lane>> Placing::place_on(const Slice& slice, const MeshAxis& axis) {
    std::vector<Lane> lanes;
    std::int64_t size = axis.size;
    for (const std::string& name : axis.links) {
        bool found = false;
        for (TakenLink& link : links_) {
            if (!called(slice, link, name)) continue;
            found = true;
            const std::int64_t part = std::gcd(size, link.left());
            if (part == 1) continue;
            lanes.push_back(taken_of(link, part));
            size /= part;
        }
        if (!found) return unknown(slice, axis.name, name);
    }
    if (size == 1) return lanes;
    return fail("bad_mesh",
                fmt::format("mesh axis `{}` of {} cannot be placed on {} of the slice {}: {} chips are left over",
                            axis.name, axis.size, fmt::join(axis.links, "+"), slice.shape_text(), size),
                "name more torus axes or tiers, or leave `on` out");
}

std::vector<Lane> Placing::place(std::int64_t size, MeshOrder order) {
    std::optional<std::size_t> inner;
    if (order == MeshOrder::innermost_first) {
        inner = tier_with(size);
        if (!inner) return parts(size);  // taking a whole outer tier would leave the inner one to a later axis
    }
    if (auto lanes = one_whole(size, inner); !lanes.empty()) return lanes;
    if (auto lanes = several_whole(size, inner); !lanes.empty()) return lanes;
    return parts(size);
}

std::vector<std::vector<Lane>> Placing::ways(std::int64_t size) const {
    std::vector<std::vector<Lane>> all;
    Placing usual = *this;
    all.push_back(usual.place(size, MeshOrder::innermost_first));
    if (all.back().empty()) return {};
    const auto tier = tier_with(size);
    if (!tier) return all;
    std::vector<TakenLink> inner;
    for (const TakenLink& link : links_) {
        if (link.tier == *tier && link.left() > 1) inner.push_back(link);
    }
    if (inner.size() == 1) return all;
    std::vector<std::vector<Lane>> whole;
    std::vector<std::vector<Lane>> parts;
    for (unsigned long chosen = 0; chosen < 1UL << inner.size(); ++chosen) {
        std::vector<TakenLink> links = inner;
        std::vector<Lane> lanes;
        std::int64_t rest = size;
        for (std::size_t i = 0; i < links.size(); ++i) {
            if ((chosen >> i & 1) == 0) continue;
            if (rest % links[i].left() != 0) rest = 0;
            if (rest == 0) break;
            rest /= links[i].left();
            lanes.push_back(taken_of(links[i], links[i].left()));
        }
        if (rest == 1) {
            whole.push_back(std::move(lanes));
            continue;
        }
        if (rest == 0) continue;
        for (TakenLink& link : links) {
            if (link.left() % rest != 0) continue;
            parts.push_back(lanes);
            parts.back().push_back(taken_of(link, rest));
        }
    }
    for (auto& each : whole.empty() ? parts : whole) all.push_back(std::move(each));
    return all;
}

void Placing::take(const std::vector<Lane>& lanes) {
    for (const Lane& lane : lanes) {
        for (TakenLink& link : links_) link.taken *= link.tier == lane.tier && link.axis == lane.axis ? lane.size : 1;
    }
}

std::string Placing::name_of(const Slice& slice, std::size_t tier, std::size_t axis) {
    const NetworkTier& network = slice.network(slice.tiers[tier]);
    return has_axes(network) ? fmt::format("{}.{}", network.id, axis) : network.id;
}

// The innermost tier that is not full, if the axis fits into it.
std::optional<std::size_t> Placing::tier_with(std::int64_t size) const {
    const auto first =
        std::find_if(links_.begin(), links_.end(), [](const TakenLink& link) { return link.left() > 1; });
    if (first == links_.end()) return std::nullopt;
    std::int64_t left = 1;
    for (const TakenLink& link : links_) left *= link.tier == first->tier ? link.left() : 1;
    return left % size == 0 ? std::optional(first->tier) : std::nullopt;
}

std::vector<Lane> Placing::one_whole(std::int64_t size, std::optional<std::size_t> tier) {
    for (TakenLink& link : links_) {
        if (tier && link.tier != *tier) continue;
        if (link.taken == 1 && link.size == size) return {taken_of(link, size)};
    }
    return {};
}

// Neighbouring axes in order whose lengths multiply to the size, on one tier.
std::vector<Lane> Placing::several_whole(std::int64_t size, std::optional<std::size_t> tier) {
    for (std::size_t begin = 0; begin < links_.size(); ++begin) {
        if (tier && links_[begin].tier != *tier) continue;
        std::int64_t made = 1;
        for (std::size_t end = begin; end < links_.size(); ++end) {
            const TakenLink& link = links_[end];
            if (link.taken != 1 || link.tier != links_[begin].tier || size % (made * link.size) != 0) break;
            made *= link.size;
            if (made != size) continue;
            std::vector<Lane> lanes;
            for (std::size_t i = begin; i <= end; ++i) lanes.push_back(taken_of(links_[i], links_[i].size));
            return lanes;
        }
    }
    return {};
}

std::vector<Lane> Placing::parts(std::int64_t size) {
    std::vector<Lane> lanes;
    for (TakenLink& link : links_) {
        const std::int64_t part = std::gcd(size, link.left());
        if (part == 1) continue;
        lanes.push_back(taken_of(link, part));
        size /= part;
    }
    if (size != 1) lanes.clear();
    return lanes;
}

tl::unexpected<Error> Placing::unknown(const Slice& slice, const std::string& axis, const std::string& name) const {
    std::vector<std::string> names;
    for (const TakenLink& link : links_) names.push_back(name_of(slice, link.tier, link.axis));
    return fail(
        "unknown_wire",
        fmt::format("mesh axis `{}` is placed on `{}`, which the slice {} lacks", axis, name, slice.shape_text()),
        names.empty() ? "a single chip has no network"
                      : did_you_mean(name, names, fmt::format("it has {}", fmt::join(names, ", "))));
}

}  // namespace roofline::core
