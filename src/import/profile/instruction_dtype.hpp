// The dtype in which an instruction of XLA multiplies, as profiles state it.
#pragma once

#include <optional>
#include <string_view>

#include "units/dtype.hpp"

namespace roofline::core {

/// Returns the dtype of the arrays of at least two dimensions that an instruction reads, by its text in a profile:
/// bf16 for `%fusion.3 = f32[8,64]{1,0} fusion(bf16[8,128]{1,0} %x, bf16[128,64]{1,0} %w, f32[64]{0} %b), ...`. Empty
/// if the text names no operands with shapes or if these have different dtypes, because one of them may not be
/// multiplied.
[[nodiscard]] std::optional<Dtype> dtype_of_operands(std::string_view instruction);

/// Returns the dtype in which a kernel multiplies by its name: bf16 for "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn". Empty
/// if the name does not tell.
[[nodiscard]] std::optional<Dtype> dtype_of_kernel(std::string_view name);

}  // namespace roofline::core
