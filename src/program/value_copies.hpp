// The number of copies of each value of a program.
#pragma once

#include <vector>

#include "algebra/rational.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// Returns, by value, the product of the counts of the enclosing repeats, because every iteration has its own tensors.
/// Counts without a size are 1.
[[nodiscard]] std::vector<Rational> value_copies(const Program& program);

}  // namespace roofline::core
