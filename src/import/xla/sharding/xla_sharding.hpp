// Shardings in the notations of XLA (mhlo.sharding) and Shardy (sdy.sharding).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/xla/xla_module.hpp"
#include "network/replica_groups.hpp"

namespace roofline::core {

/// How an array lies on devices: over which of them each dimension is split, outermost first, as devices at constant
/// distances from one another. It is whole over all other devices.
struct XlaSharding {
    std::vector<std::vector<StridedDim>> dims;  ///< none for an array that is whole everywhere
    bool open = false;                          ///< a partitioner may split it further
};

/// A mesh of Shardy: axes with their sizes, outermost first. Devices are numbered along it, the last axis fastest.
using ShardyMesh = std::vector<std::pair<std::string, std::int64_t>>;

/// Returns the meshes that a module declares, by name. A mesh that orders its devices in another way is left out.
[[nodiscard]] std::map<std::string, ShardyMesh, std::less<>> shardy_meshes(const XlaModule& module);

/// Reads `{devices=[4,1,2]<=[8] last_tile_dim_replicate}`, `{devices=[2,2]0,1,2,3}`, `{replicated}`; nothing for
/// a tuple, a device that is named, devices at no constant distances, and anything else.
[[nodiscard]] std::optional<XlaSharding> read_tile_sharding(std::string_view written);

/// Reads the shardings of `#sdy.sharding<@mesh, [{"x"}, {"y":(1)2, ?}]>` or `#sdy.sharding_per_value<[<@mesh, [{}]>]>`;
/// nothing for one that is not understood, or over a mesh that is not among these.
[[nodiscard]] std::vector<std::optional<XlaSharding>> read_shardy_shardings(
    std::string_view written, const std::map<std::string, ShardyMesh, std::less<>>& meshes);

/// Returns the shardings of an instruction's arrays in order, one for each; nothing where none is written.
[[nodiscard]] std::vector<std::optional<XlaSharding>> shardings_of(
    const XlaInstruction& instruction, const std::map<std::string, ShardyMesh, std::less<>>& meshes);

}  // namespace roofline::core
