// Number formats of tensors and of the arithmetic on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace roofline {

/// A number format. In the `mx` and `nv` formats the elements of a block share a scale (OCP Microscaling Formats 1.0;
/// NVIDIA's NVFP4), and the bytes of a tensor include these scales. `fp8`, `fp6` and `fp4` stand for any encoding of
/// that width.
enum class Dtype : std::uint8_t {
    f64,
    f32,
    tf32,
    bf16,
    f16,
    fp8,
    fp8_e4m3,
    fp8_e5m2,
    mxfp8,
    fp6,
    fp4,
    nvfp4,
    mxfp4,
    int64,
    int32,
    int16,
    int8,
    int4,
    boolean,
};

/// Returns the name of a format as programs spell it: "bf16".
[[nodiscard]] std::string_view name(Dtype dtype);

/// Returns the format with this name or alias (bfloat16, float32, fp32, half, s8, i8, u8, e4m3 ...), in upper or lower
/// case. Empty if there is no such format.
[[nodiscard]] std::optional<Dtype> find_dtype(std::string_view text);

}  // namespace roofline
