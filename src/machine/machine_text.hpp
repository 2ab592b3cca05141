// Writes a machine as the text of a machine file.
#pragma once

#include <string>

#include "machine/machine.hpp"

namespace roofline::core {

/// The text that parse_machine() reads back as the same machine: every figure with all digits, source, basis, notes and
/// alternatives. The source of a what-if's figure says so. docs/reference/machine-files.md describes the keys.
[[nodiscard]] std::string machine_text(const Machine& machine);

/// A TOML string in double quotes; control characters, which machine files must not contain, become spaces.
[[nodiscard]] std::string toml_string(std::string_view text);

}  // namespace roofline::core
