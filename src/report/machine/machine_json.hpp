// Machines as JSON: SI base units, the unit in the key; what is not known is null.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace roofline::core {

[[nodiscard]] std::string machine_list_json(const std::vector<Machine>& machines);
[[nodiscard]] std::string machine_show_json(const Machine& machine);
/// {"schema":1, "machines":[ {what machine_show_json has} ]}
[[nodiscard]] std::string machine_compare_json(const std::vector<Machine>& machines);

}  // namespace roofline::core
