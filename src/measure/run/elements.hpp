// Elements of arrays as numbers, and numbers as elements, many at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "measure/run/tape.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

[[nodiscard]] std::size_t element_bytes(Dtype dtype);

[[nodiscard]] float bf16_to_float(std::uint16_t bits);
[[nodiscard]] std::uint16_t float_to_bf16(float value);  ///< to nearest even
[[nodiscard]] float f16_to_float(std::uint16_t bits);
[[nodiscard]] std::uint16_t float_to_f16(float value);  ///< to nearest even; beyond its range infinity

/// `count` elements, `stride` elements apart, as numbers one after the other; stride 0 repeats the first.
void load_elements(Dtype dtype, const void* from, std::int64_t stride, float* to, std::size_t count);
void load_elements(Dtype dtype, const void* from, std::int64_t stride, double* to, std::size_t count);
void load_elements(Dtype dtype, const void* from, std::int64_t stride, std::int32_t* to, std::size_t count);

/// And back: rounded to nearest even; integers saturate.
void store_elements(Dtype dtype, const float* from, void* to, std::int64_t stride, std::size_t count);
void store_elements(Dtype dtype, const double* from, void* to, std::int64_t stride, std::size_t count);
void store_elements(Dtype dtype, const std::int32_t* from, void* to, std::int64_t stride, std::size_t count);

/// out[i] = function(a[i], b[i], c[i]); what the function does not take is not looked at. `out` may be one of them.
void map_elements(MapFunction function, const float* a, const float* b, const float* c, float* out, std::size_t count);
void map_elements(MapFunction function, const double* a, const double* b, const double* c, double* out,
                  std::size_t count);
void map_elements(MapFunction function, const std::int32_t* a, const std::int32_t* b, const std::int32_t* c,
                  std::int32_t* out, std::size_t count);

/// Of `count` numbers, at least one.
[[nodiscard]] float largest_element(const float* x, std::size_t count);
[[nodiscard]] double largest_element(const double* x, std::size_t count);
[[nodiscard]] std::int32_t largest_element(const std::int32_t* x, std::size_t count);
[[nodiscard]] float smallest_element(const float* x, std::size_t count);
[[nodiscard]] double smallest_element(const double* x, std::size_t count);
[[nodiscard]] std::int32_t smallest_element(const std::int32_t* x, std::size_t count);

}  // namespace roofline::core
