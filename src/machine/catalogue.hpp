// The built-in machines. Their files are parsed only on request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"

namespace roofline::core {

/// All ids in alphabetical order.
[[nodiscard]] std::vector<std::string> machine_ids();

/// Finds a machine by id or alias, ignoring case and with spaces, '_' and '-' equivalent, or by a prefix of either that
/// no other machine's name has and that lacks only letters of its last word: "trill", and not "rtx-4070" of an RTX 4070
/// Ti, which is another product. An exact match takes precedence over prefixes. Errors: unknown (with the nearest
/// name), ambiguous (with the candidates).
[[nodiscard]] Result<Machine> find_machine(std::string_view name);

/// The same, with figures changed as set_figure() reads them: "hbm.bandwidth=*2". Errors: those of both.
[[nodiscard]] Result<Machine> find_machine(std::string_view name, const std::vector<std::string>& changes);

/// The text of the machine's file as shipped, a template for users' own files.
[[nodiscard]] Result<std::string> machine_file(std::string_view name);

}  // namespace roofline::core
