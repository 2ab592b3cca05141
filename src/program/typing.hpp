// What follows from an operation's operands: dimensions, dtype and masks of its result.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// True for a bare number's dimension.
[[nodiscard]] bool is_anonymous(std::string_view dim);

/// All dimensions of the operands, in order of first appearance.
[[nodiscard]] std::vector<std::string> together(const std::vector<Operand>& operands);

/// The dtype of a result that nobody wrote: the arithmetic's own from 16 bits on, what the units add up in below that.
[[nodiscard]] Dtype result_dtype(Dtype arithmetic);

/// The arithmetic of an operation on tensors of these dtypes; conditions take no part beside something else. Empty when two of
/// them, which `clash` then are, can be done in either.
struct DtypeClash {
    Dtype left = Dtype::bf16;
    Dtype right = Dtype::bf16;
};
[[nodiscard]] std::optional<Dtype> arithmetic_of(const std::vector<Dtype>& operands, DtypeClash& clash);

/// True for functions that carry rows from place to place and so work in the dtype of their first operand.
[[nodiscard]] bool moves_rows(const Op& op);

/// Dimensions of the result of an operation whose operands and `along` are known, in the order in which they follow.
[[nodiscard]] std::vector<std::string> result_dims(const Op& op);

/// Gives the result what its operands leave of a masked plane: what is computed from a half-empty plane is half empty, as long
/// as it still has the plane.
void inherit_masks(const Program& program, const Op& op, Value& result);

/// Marks the plane of a mask on what the operations from `first` on make of it: they need not compute the masked half either.
void mask_operands(Program& program, const std::vector<Op>& ops, std::size_t first, const MaskedPlane& plane);

}  // namespace roofline::core
