// Reads HLO text, as `compiled.as_text()` and `--xla_dump_to` write it.
#pragma once

#include <string>

#include "base/result.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// Reads a module in any dialect of HLO text: with or without percent signs, operand types, layouts, tables of stack
/// frames, a line `HloModule`, the word ENTRY (then the last computation is the entry); fusions may hold their
/// computation in braces. `name` stands in messages. Errors, with their place: text that is no HLO, an operand or a
/// computation that is not defined, defined twice, or that calls itself; shapes that cannot be counted; several
/// modules.
[[nodiscard]] Result<XlaModule> read_hlo_text(std::string text, const std::string& name);

}  // namespace roofline::core
