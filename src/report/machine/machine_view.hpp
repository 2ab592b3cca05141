// Printed forms of `roofline machine`: a list, one machine with the origin of every value, or a comparison.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "report/format.hpp"

namespace roofline::core {

/// Returns one line per machine: bf16 matmul rate, main memory, ridge point, power.
[[nodiscard]] std::string machine_list(const std::vector<Machine>& machines, Format format);

/// Returns every value with its basis, confidence, source, note and the values of other sources; ridge points; totals
/// of a pod.
[[nodiscard]] std::string machine_show(const Machine& machine, Format format);

/// Returns a comparison with one column per machine.
[[nodiscard]] std::string machine_compare(const std::vector<Machine>& machines, Format format);

}  // namespace roofline::core
