// What custom calls of XLA cost, as far as they tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "import/xla/cost/xla_cost_scope.hpp"

namespace roofline::core {

/// The target without its quotation marks: "__cublas$lt$matmul".
[[nodiscard]] std::string_view custom_call_target(const XlaInstruction& at);

/// Whether the call is a matrix product of cuBLAS or cuBLASLt; whether it is a convolution of cuDNN.
[[nodiscard]] bool is_cublas_product(const XlaInstruction& at);
[[nodiscard]] bool is_cudnn_convolution(const XlaInstruction& at);

/// Operations of a matrix product, two per element of the result and element of the contracted dimensions of `lhs`.
[[nodiscard]] Result<double> product_flops(const XlaInstruction& at, const XlaShape& lhs, const XlaShape& result,
                                           const std::vector<std::int64_t>& contracted);

/// Returns the cost of a matrix product of cuBLAS (dimensions in backend_config), a convolution of cuDNN, or a kernel
/// of Triton or Pallas that states its cost (`cost_estimate` in backend_config); nothing for any other call. Workspace
/// is not counted. Errors: a product or convolution whose attributes do not fit its operands.
[[nodiscard]] Result<std::optional<XlaCost>> known_custom_call(const XlaCostScope& scope, const XlaInstruction& at);

/// Returns the cost of a custom call as the options have it.
[[nodiscard]] Result<XlaCost> custom_call_cost(const XlaCostScope& scope, const XlaInstruction& at);

}  // namespace roofline::core
