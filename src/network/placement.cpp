#include "network/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace roofline::core {

namespace {

/// An axis of a torus, or a whole tier, and how much of it is taken.
struct Wire {
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
                if (part.shape[axis] > 1) wires_.push_back({tier, axis, part.shape[axis], part.wrapped[axis]});
            }
        }
    }

    // Returns the lanes of one axis on links that are named.
    Result<std::vector<Lane>> place_on(const Slice& slice, const MeshAxis& axis) {
        std::vector<Lane> lanes;
        std::int64_t size = axis.size;
        for (const std::string& name : axis.wires) {
            bool found = false;
            for (Wire& wire : wires_) {
                if (!called(slice, wire, name)) continue;
                found = true;
                const std::int64_t part = std::gcd(size, wire.left());
                if (part == 1) continue;
                lanes.push_back(take(wire, part));
                size /= part;
            }
            if (!found) return unknown(slice, axis.name, name);
        }
        if (size == 1) return lanes;
        return fail("bad_mesh",
                    fmt::format("mesh axis `{}` of {} cannot be placed on {} of the slice {}: {} chips are left over",
                                axis.name, axis.size, fmt::join(axis.wires, "+"), slice.shape_text(), size),
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
        const auto first = std::find_if(wires_.begin(), wires_.end(), [](const Wire& wire) { return wire.left() > 1; });
        if (first == wires_.end()) return std::nullopt;
        std::int64_t left = 1;
        for (const Wire& wire : wires_) left *= wire.tier == first->tier ? wire.left() : 1;
        return left % size == 0 ? std::optional(first->tier) : std::nullopt;
    }

    std::vector<Lane> one_whole(std::int64_t size, std::optional<std::size_t> tier) {
        for (Wire& wire : wires_) {
            if (tier && wire.tier != *tier) continue;
            if (wire.taken == 1 && wire.size == size) return {take(wire, size)};
        }
        return {};
    }

    // Neighbouring axes in order whose lengths multiply to the size, on one tier.
    std::vector<Lane> several_whole(std::int64_t size, std::optional<std::size_t> tier) {
        for (std::size_t begin = 0; begin < wires_.size(); ++begin) {
            if (tier && wires_[begin].tier != *tier) continue;
            std::int64_t made = 1;
            for (std::size_t end = begin; end < wires_.size(); ++end) {
                const Wire& wire = wires_[end];
                if (wire.taken != 1 || wire.tier != wires_[begin].tier || size % (made * wire.size) != 0) break;
                made *= wire.size;
                if (made != size) continue;
                std::vector<Lane> lanes;
                for (std::size_t i = begin; i <= end; ++i) lanes.push_back(take(wires_[i], wires_[i].size));
                return lanes;
            }
        }
        return {};
    }

    std::vector<Lane> parts(std::int64_t size) {
        std::vector<Lane> lanes;
        for (Wire& wire : wires_) {
            const std::int64_t part = std::gcd(size, wire.left());
            if (part == 1) continue;
            lanes.push_back(take(wire, part));
            size /= part;
        }
        if (size != 1) lanes.clear();
        return lanes;
    }

    static std::string name_of(const Slice& slice, const Wire& wire) {
        const NetworkTier& tier = slice.network(slice.tiers[wire.tier]);
        return has_axes(tier) ? fmt::format("{}.{}", tier.id, wire.axis) : tier.id;
    }

    // "ici" means all of its axes.
    static bool called(const Slice& slice, const Wire& wire, const std::string& name) {
        return name == name_of(slice, wire) || name == slice.network(slice.tiers[wire.tier]).id;
    }

    [[nodiscard]] tl::unexpected<Error> unknown(const Slice& slice, const std::string& axis,
                                                const std::string& name) const {
        std::vector<std::string> names;
        for (const Wire& wire : wires_) names.push_back(name_of(slice, wire));
        return fail(
            "unknown_wire",
            fmt::format("mesh axis `{}` is placed on `{}`, which the slice {} lacks", axis, name, slice.shape_text()),
            names.empty() ? "a single chip has no network"
                          : did_you_mean(name, names, fmt::format("it has {}", fmt::join(names, ", "))));
    }

    static Lane take(Wire& wire, std::int64_t size) {
        // The rest of a ring closes as well, over the chips between; a part that leaves some out does not.
        Lane lane{wire.tier, wire.axis, size, wire.taken, wire.wrapped && wire.taken * size == wire.size};
        wire.taken *= size;
        return lane;
    }

    std::vector<Wire> wires_;
};

}  // namespace

Result<std::vector<PlacedAxis>> place_mesh(const Slice& slice, const std::vector<MeshAxis>& mesh, MeshOrder order) {
    if (mesh.size() > most_mesh_axes) {
        return fail("too_many_axes",
                    fmt::format("the mesh has {} axes; the maximum is {}", mesh.size(), most_mesh_axes),
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
        if (mesh[i].wires.empty()) continue;
        ROOFLINE_TRY(placed[i].lanes, placing.place_on(slice, mesh[i]));
    }
    for (std::size_t i = 0; i < mesh.size(); ++i) {
        if (!mesh[i].wires.empty() || mesh[i].size == 1) continue;
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
