#include "network/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace roofline::core {

namespace {

/// An axis of a torus, or a whole tier, and how much of it is taken.
struct Link {
    std::size_t tier = 0;
    std::size_t axis = 0;
    std::int64_t size = 0;
    bool wrapped = false;
    std::int64_t taken = 1;

    [[nodiscard]] std::int64_t left() const { return size / taken; }
};

class Placing {
public:
    explicit Placing(const Slice& slice) {
        for (std::size_t tier = 0; tier < slice.tiers.size(); ++tier) {
            const SliceTier& part = slice.tiers[tier];
            for (std::size_t axis = 0; axis < part.shape.size(); ++axis) {
                if (part.shape[axis] > 1) links_.push_back({tier, axis, part.shape[axis], part.wrapped[axis]});
            }
        }
    }

    // Returns the lanes of one axis on links that are named.
    Result<std::vector<Lane>> place_on(const Slice& slice, const MeshAxis& axis) {
        std::vector<Lane> lanes;
        std::int64_t size = axis.size;
        for (const std::string& name : axis.links) {
            bool found = false;
            for (Link& link : links_) {
                if (!called(slice, link, name)) continue;
                found = true;
                const std::int64_t part = std::gcd(size, link.left());
                if (part == 1) continue;
                lanes.push_back(take(link, part));
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

    // Returns the lanes of one axis; empty when it cannot be placed.
    std::vector<Lane> place(std::int64_t size, MeshOrder order) {
        std::optional<std::size_t> inner;
        if (order == MeshOrder::innermost_first) {
            inner = tier_with(size);
            if (!inner) return parts(size);  // taking a whole outer tier would leave the inner one to a later axis
        }
        if (auto lanes = one_whole(size, inner); !lanes.empty()) return lanes;
        if (auto lanes = several_whole(size, inner); !lanes.empty()) return lanes;
        return parts(size);
    }

private:
    // The innermost tier that is not full, if the axis fits into it.
    [[nodiscard]] std::optional<std::size_t> tier_with(std::int64_t size) const {
        const auto first = std::find_if(links_.begin(), links_.end(), [](const Link& link) { return link.left() > 1; });
        if (first == links_.end()) return std::nullopt;
        std::int64_t left = 1;
        for (const Link& link : links_) left *= link.tier == first->tier ? link.left() : 1;
        return left % size == 0 ? std::optional(first->tier) : std::nullopt;
    }

    std::vector<Lane> one_whole(std::int64_t size, std::optional<std::size_t> tier) {
        for (Link& link : links_) {
            if (tier && link.tier != *tier) continue;
            if (link.taken == 1 && link.size == size) return {take(link, size)};
        }
        return {};
    }

    // Neighbouring axes in order whose lengths multiply to the size, on one tier.
    std::vector<Lane> several_whole(std::int64_t size, std::optional<std::size_t> tier) {
        for (std::size_t begin = 0; begin < links_.size(); ++begin) {
            if (tier && links_[begin].tier != *tier) continue;
            std::int64_t made = 1;
            for (std::size_t end = begin; end < links_.size(); ++end) {
                const Link& link = links_[end];
                if (link.taken != 1 || link.tier != links_[begin].tier || size % (made * link.size) != 0) break;
                made *= link.size;
                if (made != size) continue;
                std::vector<Lane> lanes;
                for (std::size_t i = begin; i <= end; ++i) lanes.push_back(take(links_[i], links_[i].size));
                return lanes;
            }
        }
        return {};
    }

    std::vector<Lane> parts(std::int64_t size) {
        std::vector<Lane> lanes;
        for (Link& link : links_) {
            const std::int64_t part = std::gcd(size, link.left());
            if (part == 1) continue;
            lanes.push_back(take(link, part));
            size /= part;
        }
        if (size != 1) lanes.clear();
        return lanes;
    }

    static std::string name_of(const Slice& slice, const Link& link) {
        const NetworkTier& tier = slice.network(slice.tiers[link.tier]);
        return has_axes(tier) ? fmt::format("{}.{}", tier.id, link.axis) : tier.id;
    }

    // "ici" means all of its axes.
    static bool called(const Slice& slice, const Link& link, const std::string& name) {
        return name == name_of(slice, link) || name == slice.network(slice.tiers[link.tier]).id;
    }

    [[nodiscard]] tl::unexpected<Error> unknown(const Slice& slice, const std::string& axis,
                                                const std::string& name) const {
        std::vector<std::string> names;
        for (const Link& link : links_) names.push_back(name_of(slice, link));
        return fail(
            "unknown_wire",
            fmt::format("mesh axis `{}` is placed on `{}`, which the slice {} lacks", axis, name, slice.shape_text()),
            names.empty() ? "a single chip has no network"
                          : did_you_mean(name, names, fmt::format("it has {}", fmt::join(names, ", "))));
    }

    static Lane take(Link& link, std::int64_t size) {
        // The rest of a ring closes as well, over the chips between; a part that leaves some out does not.
        Lane lane{link.tier, link.axis, size, link.taken, link.wrapped && link.taken * size == link.size};
        link.taken *= size;
        return lane;
    }

    std::vector<Link> links_;
};

}  // namespace

Result<std::vector<PlacedAxis>> place_mesh(const Slice& slice, const std::vector<MeshAxis>& mesh, MeshOrder order) {
    if (mesh.size() > max_mesh_axes) {
        return fail("too_many_axes", fmt::format("the mesh has {} axes; the maximum is {}", mesh.size(), max_mesh_axes),
                    "merge axes that always occur together");
    }
    std::int64_t chips = 1;
    for (const MeshAxis& axis : mesh) {
        if (axis.size < 1 || __builtin_mul_overflow(chips, axis.size, &chips) || chips > slice.chips()) {
            chips = -1;
            break;
        }
    }
    if (chips != slice.chips() && slice.chips() == 1) {
        return fail("bad_mesh", fmt::format("the mesh {} needs several chips, but there is only one", mesh_text(mesh)),
                    fmt::format("name a slice: --on {}:4x4", slice.machine.id));
    }
    if (chips != slice.chips()) {
        return fail("bad_mesh",
                    fmt::format("the mesh {} does not match the slice: {} has {} chips", mesh_text(mesh),
                                slice.shape_text(), slice.chips()),
                    "the product of the axis sizes must be the number of chips");
    }
    Placing placing(slice);
    std::vector<PlacedAxis> placed;
    for (const MeshAxis& axis : mesh) placed.push_back({axis.name, axis.size, {}});
    for (std::size_t i = 0; i < mesh.size(); ++i) {
        if (mesh[i].links.empty()) continue;
        ROOFLINE_TRY(placed[i].lanes, placing.place_on(slice, mesh[i]));
    }
    for (std::size_t i = 0; i < mesh.size(); ++i) {
        if (!mesh[i].links.empty() || mesh[i].size == 1) continue;
        placed[i].lanes = placing.place(mesh[i].size, order);
        if (!placed[i].lanes.empty()) continue;
        return fail("bad_mesh",
                    fmt::format("mesh axis `{}` of {} cannot be placed on the slice {}", mesh[i].name, mesh[i].size,
                                slice.shape_text()),
                    "choose sizes that divide those of the slice");
    }
    return placed;
}

std::string place_text(const Slice& slice, const PlacedAxis& axis) {
    std::vector<std::string> parts;
    for (const Lane& lane : axis.lanes) {
        const SliceTier& tier = slice.tiers[lane.tier];
        const bool torus = has_axes(slice.network(tier));
        std::string text = slice.network(tier).id;
        if (torus) text += fmt::format(".{}", lane.axis);
        if (lane.size != tier.shape[lane.axis]) text += fmt::format(" x {} of {}", lane.size, tier.shape[lane.axis]);
        if (torus) text += lane.wrapped ? ", a ring" : ", unwrapped";
        parts.push_back(std::move(text));
    }
    return parts.empty() ? "one chip" : fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace roofline::core
