// Low-rank adapters: a program in which parameters are frozen and pairs of small parameters beside them are trained.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "program/program.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// The part of a program that adapters and their matmuls belong to.
inline constexpr std::string_view adapter_part = "adapter";

/// Low-rank adapters of a program.
struct AdapterPlan {
    std::int64_t rank = 0;
    /// Parameters that get adapters. Those of one group share the first factor, because they read the same tensor.
    std::vector<std::vector<ValueId>> groups;
    /// Dtype of frozen matrices, except in parts that stay in 16 bits (stays_wide()); empty: as they are.
    std::optional<Dtype> frozen{};
};

/// Returns the number of rows and columns of the matrix that a matmul multiplies with, one of its inputs: the product
/// of the dimensions that are summed, and of those that only the matrix has. Dimensions without a size count 1.
struct MatrixShape {
    std::int64_t rows = 1;
    std::int64_t columns = 1;
};
[[nodiscard]] MatrixShape matrix_shape(const Program& program, const Op& matmul, const Operand& matrix);

/// Returns the program with all parameters frozen and with adapters (LoRA, arXiv 2106.09685, section 4.1): a matmul
/// X *_D W with a chosen W[D, F] becomes X *_D W + (X *_D A) *_r B with parameters A[D, r] and B[r, F] of W's dtype.
/// Dimensions that X and W share without summing them, such as experts, are in A and B, too. A, B and what is computed
/// with them form the part `adapter`. Each product is a statement, and the sum is one with the matmul, apart from
/// elementwise work that follows in its expression. Scaling by alpha / r is left out because it can be in B. Errors: a
/// rank below 1 or above the rows or columns of a matrix; a parameter that no matmul reads, or one in a matmul of three
/// operands; matrices of one group that multiply different tensors; an operand that is no tensor with a name.
[[nodiscard]] Result<Program> with_adapters(const Program& program, const AdapterPlan& plan);

}  // namespace roofline::core
