// Maps ranks to positions on the mesh.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "layout/sharding.hpp"
#include "measure/network/communicator.hpp"

namespace roofline::core {

/// The ranks as the chips of a mesh: rank i is chip i, numbered along the mesh, last axis fastest. Groups along axes
/// are created on first use, by all ranks together.
class MeshRanks {
public:
    MeshRanks(Communicator& world, const System& system) : world_(world), system_(system) {}

    [[nodiscard]] const System& system() const { return system_; }
    [[nodiscard]] Communicator& world() { return world_; }
    [[nodiscard]] std::int64_t chip() const { return world_.rank(); }
    /// The group of this rank along these axes.
    [[nodiscard]] Result<Communicator*> along(AxisMask axes);
    /// The chips of that group, in the order of its ranks.
    [[nodiscard]] std::vector<std::int64_t> members(AxisMask axes) const;

private:
    Communicator& world_;
    const System& system_;
    std::map<AxisMask, std::unique_ptr<Communicator>> groups_;
};

}  // namespace roofline::core
