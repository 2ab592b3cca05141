// An imported program that a person can read: one name for each dimension in all its tensors.
#pragma once

#include "import/xla/lower/lower_module.hpp"
#include "import/xla/sharding/module_sharding.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// Returns an imported program with dimensions that have the same name wherever they are the same dimension, and only
/// there: D4096, and D4096b for another one of that size. Where an operation sees an array under other dimensions than
/// those it was made with, a view says so. print() writes it such that it can be parsed back, and it has the same work
/// as `imported`.
///
/// With a `sharding`, arrays have its subscripts, and any other array that is computed may lie as is best; a dimension
/// that is made of several is split from the outermost on.
[[nodiscard]] ImportedProgram name_dimensions(const XlaModule& module, const ImportedProgram& imported,
                                              const ModuleSharding* sharding = nullptr);

}  // namespace roofline::core
