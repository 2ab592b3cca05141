// How often each value of a program exists.
#pragma once

#include <vector>

#include "algebra/rational.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// By value: the product of the counts of the repeats that it stands in, since every pass has tensors of its own. Counts without
/// a size are 1.
[[nodiscard]] std::vector<Rational> value_copies(const Program& program);

}  // namespace roofline::core
