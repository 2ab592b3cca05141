#include "layout/sharding.hpp"

#include <fmt/format.h>

namespace roofline::core {

namespace {

// The index of an axis in the mesh, by its name.
Result<std::size_t> number_of(const System& system, const std::string& name) {
    for (std::size_t i = 0; i < system.mesh.size(); ++i) {
        if (system.mesh[i].name == name) return i;
    }
    std::vector<std::string> names;
    for (const PlacedAxis& axis : system.mesh) names.push_back(axis.name);
    return fail(
        "unknown_axis", fmt::format("the mesh has no axis `{}`", name),
        did_you_mean(name, names,
                     names.empty() ? "give one: --mesh X=4,Y=4" : fmt::format("it has {}", fmt::join(names, ", "))));
}

// Appends an axis by its name, unless it has one chip.
Status place_axis(const System& system, const std::string& name, AxisList& list) {
    ROOFLINE_TRY(const auto axis, number_of(system, name));
    if (system.mesh[axis].size > 1) list.push_back(axis);
    return {};
}

// On a mesh of one chip the chip holds everything.
Result<std::int64_t> chip_of(const MeshPlace& place, const System& system) {
    std::vector<std::int64_t> coordinates(system.mesh.size(), 0);
    for (const auto& [name, coordinate] : place) {
        ROOFLINE_TRY(const auto axis, number_of(system, name));
        const std::int64_t size = system.mesh[axis].size;
        if (coordinate >= size) {
            return fail("bad_place", fmt::format("the mesh has no chip at {}={}", name, coordinate),
                        fmt::format("coordinates on {} go from 0 to {}", name, size - 1));
        }
        coordinates[axis] = coordinate;
    }
    if (system.slice.chips() == 1) return Sharding::everywhere;
    std::int64_t chip = 0;
    for (std::size_t i = 0; i < coordinates.size(); ++i) chip = chip * system.mesh[i].size + coordinates[i];
    return chip;
}

}  // namespace

AxisList listed(AxisMask mask) {
    AxisList list;
    for (std::size_t axis = 0; axis < max_mesh_axes; ++axis) {
        if ((mask >> axis & 1U) != 0) list.push_back(axis);
    }
    return list;
}

std::vector<AxisList> orders_of(AxisMask mask) {
    const AxisList rising = listed(mask);
    if (rising.size() != 2) return {rising};
    AxisList falling = rising.from(1);
    falling.append(rising.first(1));
    return {rising, falling};
}

Result<Sharding> sharding_of(const TensorType& type, const System& system) {
    Sharding sharding;
    if (type.axes.size() > Sharding::max_dims) {
        return fail("too_many_dimensions",
                    fmt::format("a tensor of {} dimensions in a sharded program; the maximum is {}", type.axes.size(),
                                Sharding::max_dims),
                    "join dimensions that are never split");
    }
    sharding.rank = static_cast<std::uint8_t>(type.axes.size());
    for (std::size_t d = 0; d < type.axes.size(); ++d) {
        for (const std::string& name : type.axes[d].mesh) {
            ROOFLINE_CHECK(place_axis(system, name, sharding.dims[d]));
        }
    }
    AxisList unreduced;
    for (const std::string& name : type.unreduced) {
        ROOFLINE_CHECK(place_axis(system, name, unreduced));
    }
    sharding.unreduced = unreduced.mask();
    if (!type.at.empty()) {
        ROOFLINE_TRY(sharding.at, chip_of(type.at, system));
    }
    return sharding;
}

MeshPlace mesh_place(const System& system, std::int64_t chip) {
    MeshPlace place;
    if (chip == Sharding::everywhere) return place;
    for (std::size_t i = system.mesh.size(); i-- > 0;) {
        place.emplace(place.begin(), system.mesh[i].name, chip % system.mesh[i].size);
        chip /= system.mesh[i].size;
    }
    return place;
}

std::vector<std::string> axis_names(const System& system, AxisList axes) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < axes.size(); ++i) names.push_back(system.mesh[axes[i]].name);
    return names;
}

TensorType with_sharding(TensorType type, const Sharding& sharding, const System& system) {
    for (std::size_t d = 0; d < type.axes.size(); ++d) type.axes[d].mesh = axis_names(system, sharding.dims[d]);
    type.unreduced = axis_names(system, listed(sharding.unreduced));
    type.at = mesh_place(system, sharding.at);
    return type;
}

std::int64_t chips_across(const System& system, AxisList axes) {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < axes.size(); ++i) count *= system.mesh[axes[i]].size;
    return count;
}

std::vector<Symbol> shards_of(const System& system, const std::vector<std::string>& dims, const Sharding& sharding) {
    std::vector<Symbol> shards;
    for (std::size_t i = 0; i < dims.size(); ++i) shards.push_back({dims[i], chips_across(system, sharding.dims[i])});
    return shards;
}

}  // namespace roofline::core
