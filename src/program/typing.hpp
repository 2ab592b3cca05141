// The result of an operation, derived from its operands: dimensions, dtype and masks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// True for the dimension of a bare number.
[[nodiscard]] bool is_anonymous(std::string_view dim);

/// Returns all dimensions of the operands, in order of first appearance.
[[nodiscard]] std::vector<std::string> together(const std::vector<Operand>& operands);

/// Returns the dtype of a result without a written one: that of the arithmetic from 16 bits on, otherwise that of the
/// accumulator.
[[nodiscard]] Dtype result_dtype(Dtype arithmetic);

/// Two dtypes for which the arithmetic is ambiguous. arithmetic_of() returns the arithmetic of an operation on tensors
/// of these dtypes; conditions count only if there is nothing else. It is empty when two of them, which `clash` then
/// names, are equally possible.
struct DtypeClash {
    Dtype left = Dtype::bf16;
    Dtype right = Dtype::bf16;
};
[[nodiscard]] std::optional<Dtype> arithmetic_of(const std::vector<Dtype>& operands, DtypeClash& clash);

/// True for functions that move rows and therefore work in the dtype of their first operand.
[[nodiscard]] bool moves_rows(const Op& op);

/// Returns the dimensions of the result of an operation whose operands and `along` are known, in the order in which
/// they follow.
[[nodiscard]] std::vector<std::string> result_dims(const Op& op);

/// Gives the result the masks of its operands: a value computed from a half-empty plane is half empty, as long as it
/// still has the plane.
void inherit_masks(const Program& program, const Op& op, Value& result);

/// Marks the plane of a mask on the results of the operations from `first` on: they need not compute the masked half
/// either.
void mask_operands(Program& program, const std::vector<Op>& ops, std::size_t first, const MaskedPlane& plane);

}  // namespace roofline::core
