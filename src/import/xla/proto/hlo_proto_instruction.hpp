// Reads an HloInstructionProto.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "import/xla/xla_module.hpp"
#include "text/protobuf.hpp"

namespace roofline::core {

/// An instruction whose operands and computations are still named by their ids.
struct HloProtoInstruction {
    XlaInstruction made{};
    std::int64_t id = 0;
    std::vector<std::int64_t> operands{};
    std::vector<std::int64_t> called{};  ///< in the order of XlaInstruction::called
    std::int64_t frame = 0;              ///< of the stack, where the metadata has no file; 0: none
};

/// Reads an instruction; texts that are not in the file as such are added to `spoken`. Errors: those of its shape, and
/// a name or an operation that is missing.
[[nodiscard]] Result<HloProtoInstruction> read_instruction_proto(ProtoFile& file, ProtoMessage message,
                                                                 std::size_t offset, std::deque<std::string>& spoken);

/// Returns the text itself if people can read it, and otherwise a copy in `spoken` with question marks for bytes that
/// are no UTF-8 or control a terminal.
[[nodiscard]] std::string_view readable(std::string_view text, std::deque<std::string>& spoken);

}  // namespace roofline::core
