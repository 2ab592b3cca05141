// Sums that are nearly always a slip of the pen: over a dimension that one operand of a product has alone.
#pragma once

#include <string>
#include <vector>

#include "program/program.hpp"

namespace roofline::core {

/// A warning for each product that sums, without naming it (`*_D`), a dimension that only one of its operands has: where it stands,
/// what is computed, and what was probably meant. label_values() has been called.
[[nodiscard]] std::vector<std::string> one_sided_sums(const Program& program);

}  // namespace roofline::core
