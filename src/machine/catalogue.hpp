// The machines that are built in. Files are parsed when asked for, not before.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"

namespace roofline::core {

/// Ids in alphabetical order.
[[nodiscard]] std::vector<std::string> machine_ids();

/// By id or alias whatever the case (spaces, '_' and '-' alike), else by an unambiguous beginning of either. An exact match
/// wins over beginnings. Errors: unknown (with the nearest), ambiguous (with the candidates).
[[nodiscard]] Result<Machine> find_machine(std::string_view name);

/// The same with figures changed as set_figure() reads them: "hbm.bandwidth=*2". Errors: those of both.
[[nodiscard]] Result<Machine> find_machine(std::string_view name, const std::vector<std::string>& changes);

/// The text of the file, as shipped: the model for a user's own.
[[nodiscard]] Result<std::string> machine_file(std::string_view name);

}  // namespace roofline::core
