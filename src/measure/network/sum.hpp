// Adding arrays of partial results.
#pragma once

#include <cstddef>

#include "units/dtype.hpp"

namespace roofline {

/// Whether add_into() knows the dtype: f64, f32, bf16, f16 and int32.
[[nodiscard]] bool can_sum(Dtype dtype);

/// to[i] += more[i] over `bytes` of each. bf16 and f16 are added in f32 and rounded to nearest, ties to even; int32 wraps around.
void add_into(std::byte* to, const std::byte* more, std::size_t bytes, Dtype dtype);

}  // namespace roofline
