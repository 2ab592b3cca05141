// A machine as the text of a machine file.
#pragma once

#include <string>

#include "machine/machine.hpp"

namespace roofline::core {

/// What parse_machine() reads back as the same machine: every figure to its last digit, with source, basis, notes and
/// alternatives. Figures of a what-if say so in their source. docs/reference/machine-files.md describes the keys.
[[nodiscard]] std::string machine_text(const Machine& machine);

/// A text between double quotes as TOML has it; machine files have no control characters, which become spaces.
[[nodiscard]] std::string toml_string(std::string_view text);

}  // namespace roofline::core
