// Reads HLO protos, as `--xla_dump_hlo_as_proto` and `as_serialized_hlo_module_proto()` write them.
#pragma once

#include <string>

#include "base/result.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// Reads an HloProto or a bare HloModuleProto (xla/service/hlo.proto). Instructions of a computation with a schedule
/// come in its order, as in text. `name` stands in messages. Errors, with the byte where they are: bytes that are no
/// such proto or end too early, an operand or a computation that is not defined, defined twice, or that calls itself;
/// shapes that cannot be counted; a schedule of other instructions.
[[nodiscard]] Result<XlaModule> read_hlo_proto(std::string bytes, const std::string& name);

}  // namespace roofline::core
