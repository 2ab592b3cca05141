// Sums, maxima and minima of arrays of partial results.
#pragma once

#include <cstddef>
#include <cstdint>

#include "units/dtype.hpp"

namespace roofline::core {

/// How two partial results are combined.
enum class Reduction : std::uint8_t { sum, max, min };

/// Returns whether add_into() supports the dtype: f64, f32, bf16, f16 and int32.
[[nodiscard]] bool can_sum(Dtype dtype);

/// to[i] += more[i], or the larger or smaller of the two, over `bytes` of each. bf16 and f16 are added in f32 and
/// rounded to nearest, ties to even; int32 wraps around.
void add_into(std::byte* to, const std::byte* more, std::size_t bytes, Dtype dtype,
              Reduction reduction = Reduction::sum);

}  // namespace roofline::core
