// Conversion between stored elements of arrays and numbers to compute with, many at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "measure/run/tape.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

[[nodiscard]] std::size_t element_bytes(Dtype dtype);

[[nodiscard]] float bf16_to_float(std::uint16_t bits);
[[nodiscard]] std::uint16_t float_to_bf16(float value);  ///< rounds to nearest even
[[nodiscard]] float f16_to_float(std::uint16_t bits);
/// Rounds to nearest even; numbers beyond its range become infinity.
[[nodiscard]] std::uint16_t float_to_f16(float value);

/// Converts `count` elements that lie `stride` elements apart to consecutive numbers; stride 0 repeats the first
/// element.
void load_elements(Dtype dtype, const void* from, std::int64_t stride, float* to, std::size_t count);
void load_elements(Dtype dtype, const void* from, std::int64_t stride, double* to, std::size_t count);
void load_elements(Dtype dtype, const void* from, std::int64_t stride, std::int32_t* to, std::size_t count);

/// Converts numbers to elements: rounds to nearest even; integers saturate.
void store_elements(Dtype dtype, const float* from, void* to, std::int64_t stride, std::size_t count);
void store_elements(Dtype dtype, const double* from, void* to, std::int64_t stride, std::size_t count);
void store_elements(Dtype dtype, const std::int32_t* from, void* to, std::int64_t stride, std::size_t count);

/// out[i] = function(a[i], b[i], c[i]); arguments that the function does not take are not read. `out` may be one of the
/// inputs.
void map_elements(MapFunction function, const float* a, const float* b, const float* c, float* out, std::size_t count);
void map_elements(MapFunction function, const double* a, const double* b, const double* c, double* out,
                  std::size_t count);
void map_elements(MapFunction function, const std::int32_t* a, const std::int32_t* b, const std::int32_t* c,
                  std::int32_t* out, std::size_t count);

/// The largest of `count` numbers; `count` is at least 1.
[[nodiscard]] float largest_element(const float* x, std::size_t count);
[[nodiscard]] double largest_element(const double* x, std::size_t count);
[[nodiscard]] std::int32_t largest_element(const std::int32_t* x, std::size_t count);
[[nodiscard]] float smallest_element(const float* x, std::size_t count);
[[nodiscard]] double smallest_element(const double* x, std::size_t count);
[[nodiscard]] std::int32_t smallest_element(const std::int32_t* x, std::size_t count);

}  // namespace roofline::core
