// Sums that are nearly always mistakes: over a dimension that only one operand of a product has.
#pragma once

#include <string>
#include <vector>

#include "program/program.hpp"

namespace roofline::core {

/// Returns a warning for each product that sums, without naming it (`*_D`), over a dimension that only one of its
/// operands has: with its place, what is computed, and what was probably meant. label_values() must have been called.
[[nodiscard]] std::vector<std::string> one_sided_sums(const Program& program);

}  // namespace roofline::core
