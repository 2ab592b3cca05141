// Machines as JSON in SI base units, with the unit in the key; unknown values are null.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace roofline::core {

[[nodiscard]] std::string machine_list_json(const std::vector<Machine>& machines);
[[nodiscard]] std::string machine_show_json(const Machine& machine);
/// Returns {"schema":1, "machines":[...]} with the machine_show_json() of each machine.
[[nodiscard]] std::string machine_compare_json(const std::vector<Machine>& machines);

}  // namespace roofline::core
