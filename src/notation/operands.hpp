// Small questions about the operands of an operation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "program/program.hpp"
#include "units/dtype.hpp"

namespace roofline {

/// True for a bare number's dimension.
[[nodiscard]] bool is_anonymous(std::string_view dim);

/// All dimensions of the operands, in order of first appearance.
[[nodiscard]] std::vector<std::string> together(const std::vector<Operand>& operands);

/// The dtype of a result that nobody wrote: the arithmetic's own from 16 bits on, what the units add up in below that.
[[nodiscard]] Dtype result_dtype(Dtype arithmetic);

}  // namespace roofline
