// bf16 and f16 as their bits, to f32 and back.
#pragma once

#include <bit>
#include <cstdint>

namespace roofline {

[[nodiscard]] inline float f32_of_bf16(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

/// To nearest, ties to even; what is no number stays none.
[[nodiscard]] inline std::uint16_t bf16_bits(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = bits + 0x7fffU + (bits >> 16U & 1U);
    return static_cast<std::uint16_t>((value != value ? bits | 0x400000U : rounded) >> 16U);
}

[[nodiscard]] inline float f32_of_f16(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000U) << 16U;
    const std::uint32_t magnitude = bits & 0x7fffU;
    // the exponent is moved by a multiplication, which makes small numbers normal as well
    const float value = std::bit_cast<float>(magnitude << 13U) * 0x1p112F;
    const std::uint32_t wide =
        magnitude >= 0x7c00U ? 0x7f800000U | magnitude << 13U : std::bit_cast<std::uint32_t>(value);
    return std::bit_cast<float>(sign | wide);
}

/// To nearest, ties to even; beyond 65504 infinite.
[[nodiscard]] inline std::uint16_t f16_bits(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16U & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    std::uint32_t half = 0;
    if (magnitude > 0x7f800000U) {
        half = 0x7e00U;
    } else if (magnitude >= 0x47800000U) {  // 65536
        half = 0x7c00U;
    } else if (magnitude < 0x38800000U) {  // below 2^-14: adding 1/2 leaves units of 2^-24 in the last places
        half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
    } else {
        half = (magnitude - 0x38000000U + 0xfffU + (magnitude >> 13U & 1U)) >> 13U;
    }
    return static_cast<std::uint16_t>(sign | half);
}

}  // namespace roofline
