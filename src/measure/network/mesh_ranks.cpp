#include "measure/network/mesh_ranks.hpp"

#include <utility>

#include "measure/network/boxes.hpp"

namespace roofline::core {

std::vector<std::int64_t> MeshRanks::members(AxisMask axes) const {
    std::vector<std::int64_t> members;
    for (std::int64_t other = 0; other < world_.size(); ++other) {
        bool same = true;
        for (std::size_t axis = 0; axis < system_.mesh.size(); ++axis) {
            same = same &&
                   ((axes >> axis & 1U) != 0 || coordinate(system_, other, axis) == coordinate(system_, chip(), axis));
        }
        if (same) members.push_back(other);
    }
    return members;
}

Result<Communicator*> MeshRanks::along(AxisMask axes) {
    auto& group = groups_[axes];
    if (!group) {
        // the first member serves as the colour of the group
        ROOFLINE_TRY(group, world_.split(static_cast<int>(members(axes).front()), world_.rank()));
    }
    return group.get();
}

}  // namespace roofline::core
