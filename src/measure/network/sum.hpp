// Adding up arrays of partial results, or comparing them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "units/dtype.hpp"

namespace roofline::core {

/// What becomes of two partial results.
enum class Reduction : std::uint8_t { sum, max, min };

/// Whether add_into() knows the dtype: f64, f32, bf16, f16 and int32.
[[nodiscard]] bool can_sum(Dtype dtype);

/// to[i] += more[i], or the larger or smaller of both, over `bytes` of each. bf16 and f16 are added in f32 and rounded to nearest, ties to even; int32 wraps around.
void add_into(std::byte* to, const std::byte* more, std::size_t bytes, Dtype dtype,
              Reduction reduction = Reduction::sum);

}  // namespace roofline::core
