// A system: a slice and a mesh on it, on which a sharded program runs.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "network/collective.hpp"
#include "network/placement.hpp"
#include "network/slice.hpp"

namespace roofline::core {

struct System {
    Slice slice;
    std::vector<PlacedAxis> mesh;
    CollectiveOptions collectives;

    [[nodiscard]] const Machine& machine() const { return slice.machine; }
    [[nodiscard]] std::vector<const PlacedAxis*> axes() const {
        std::vector<const PlacedAxis*> all;
        for (const PlacedAxis& axis : mesh) all.push_back(&axis);
        return all;
    }
    [[nodiscard]] const PlacedAxis* axis(std::string_view name) const {
        const auto found =
            std::find_if(mesh.begin(), mesh.end(), [&](const PlacedAxis& axis) { return axis.name == name; });
        return found == mesh.end() ? nullptr : &*found;
    }
};

}  // namespace roofline::core
