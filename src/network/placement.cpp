#include "network/placement.hpp"

#include <fmt/format.h>

#include "network/placing.hpp"

namespace roofline::core {

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
