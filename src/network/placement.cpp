#include "network/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace roofline {

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

    // The lanes of one axis; none when it cannot be placed.
    std::vector<Lane> place(std::int64_t size) {
        if (auto lanes = one_whole(size); !lanes.empty()) return lanes;
        if (auto lanes = several_whole(size); !lanes.empty()) return lanes;
        return parts(size);
    }

private:
    std::vector<Lane> one_whole(std::int64_t size) {
        for (Wire& wire : wires_) {
            if (wire.taken == 1 && wire.size == size) return {take(wire, size)};
        }
        return {};
    }

    // Neighbours in order whose lengths multiply to the size, on one tier.
    std::vector<Lane> several_whole(std::int64_t size) {
        for (std::size_t begin = 0; begin < wires_.size(); ++begin) {
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

    static Lane take(Wire& wire, std::int64_t size) {
        // What is left of a ring closes as well, over the chips between; a part that leaves some out does not.
        Lane lane{wire.tier, wire.axis, size, wire.taken, wire.wrapped && wire.taken * size == wire.size};
        wire.taken *= size;
        return lane;
    }

    std::vector<Wire> wires_;
};

}  // namespace

Result<std::vector<PlacedAxis>> place_mesh(const Slice& slice,
                                           const std::vector<std::pair<std::string, std::int64_t>>& mesh) {
    if (mesh.size() > most_mesh_axes) {
        return fail("too_many_axes", fmt::format("the mesh has {} axes; {} is the most", mesh.size(), most_mesh_axes),
                    "join axes that always go together");
    }
    std::int64_t chips = 1;
    for (const auto& [name, size] : mesh) {
        if (size < 1 || __builtin_mul_overflow(chips, size, &chips) || chips > slice.chips()) {
            chips = -1;
            break;
        }
    }
    std::vector<std::string> sizes;
    for (const auto& [name, size] : mesh) sizes.push_back(fmt::format("{}={}", name, size));
    if (chips != slice.chips() && slice.chips() == 1) {
        return fail("bad_mesh",
                    fmt::format("the mesh {} needs several chips, and there is one", fmt::join(sizes, ", ")),
                    fmt::format("name a slice: --on {}:4x4", slice.machine.id));
    }
    if (chips != slice.chips()) {
        return fail("bad_mesh",
                    fmt::format("the mesh {} is not the slice: {} has {} chips", fmt::join(sizes, ", "),
                                slice.shape_text(), slice.chips()),
                    "the sizes of the axes multiply to the number of chips");
    }
    Placing placing(slice);
    std::vector<PlacedAxis> placed;
    for (const auto& [name, size] : mesh) {
        PlacedAxis axis{name, size, size == 1 ? std::vector<Lane>{} : placing.place(size)};
        if (size > 1 && axis.lanes.empty()) {
            return fail(
                "bad_mesh",
                fmt::format("mesh axis `{}` of {} does not lie on the slice {}", name, size, slice.shape_text()),
                "choose sizes that divide the slice's");
        }
        placed.push_back(std::move(axis));
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

}  // namespace roofline
