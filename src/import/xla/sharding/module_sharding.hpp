// How the arrays of a module from before partitioning lie on a mesh, as it says itself.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "import/xla/lower/lower_module.hpp"
#include "import/xla/xla_module.hpp"
#include "program/program.hpp"

namespace roofline::core {

struct ModuleSharding {
    std::vector<MeshAxis> mesh;  ///< innermost first
    std::int64_t devices = 1;
    /// By value of the imported program whose sharding is written: the mesh axes of each dimension that is not 1,
    /// outermost first.
    std::map<ValueId, std::vector<std::vector<std::string>>> axes;
    std::vector<std::string> notes;
};

/// Whether a module says how arrays are split over devices, and is not of one device yet: nothing was partitioned or
/// scheduled, and no part of it is written for one device (shard_map, manual_computation).
[[nodiscard]] bool is_before_partitioning(const XlaModule& module);

/// Returns the mesh of a module's shardings, and the subscripts of its arrays. `imported` keeps constraints (see
/// ImportOptions). With `mesh`, outermost axis first, the axes have these names; the sizes of a mesh of Shardy may then
/// be others if the names are its own. Errors: shardings that are not along the axes of one mesh, or of `mesh`.
[[nodiscard]] Result<ModuleSharding> module_sharding(const XlaModule& module, const ImportedProgram& imported,
                                                     const std::vector<MeshAxis>& mesh = {});

}  // namespace roofline::core
