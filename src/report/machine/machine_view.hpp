// What `roofline machine` answers: a list, one machine with every figure's origin, several side by side.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "report/format.hpp"

namespace roofline::core {

/// One line a machine: bf16 matmul rate, main memory, ridge point, power.
[[nodiscard]] std::string machine_list(const std::vector<Machine>& machines, Format format);

/// Every figure with value, basis, confidence, source, note and what others say; ridge points; totals of a pod.
[[nodiscard]] std::string machine_show(const Machine& machine, Format format);

/// The same figures of several machines, a column each.
[[nodiscard]] std::string machine_compare(const std::vector<Machine>& machines, Format format);

}  // namespace roofline::core
