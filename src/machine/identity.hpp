// The first lines of a machine file, which say what the machine is.
#pragma once

#include <string_view>

#include "machine/machine.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// The machine that a file describes, with its id, name, vendor, kind, year, aliases, cores and notes alone. The rest
/// of the file is not read; parse_machine() reports its errors.
[[nodiscard]] Machine parse_identity(const TomlInput& toml);

/// The same of a built-in machine, found by the names that find_machine() knows. Errors are those of find_machine().
[[nodiscard]] Result<Machine> find_identity(std::string_view name);

}  // namespace roofline::core
