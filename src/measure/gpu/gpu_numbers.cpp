// Random numbers on the device, and their decoding on the host.
#include <bit>
#include <cmath>
#include <cstring>

#include "measure/gpu/gpu_probe.hpp"

namespace roofline::core {

namespace {

std::uint64_t repeated(std::uint64_t bits, unsigned width) {
    std::uint64_t word = 0;
    for (unsigned at = 0; at < 64; at += width) word |= bits << at;
    return word;
}

template <class Number>
Number element_as(const unsigned char* element) {
    Number number{};
    std::memcpy(&number, element, sizeof number);
    return number;
}

/// Decodes a number with a sign, an implicit leading one, and no infinities among the values that we generate.
double small_float(std::uint32_t bits, int exponent_bits, int mantissa_bits) {
    const std::uint32_t mantissa = bits & ((1U << mantissa_bits) - 1);
    const auto exponent = static_cast<int>((bits >> mantissa_bits) & ((1U << exponent_bits) - 1));
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const double fraction = static_cast<double>(mantissa) / (1U << mantissa_bits);
    const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
    return ((bits >> (exponent_bits + mantissa_bits)) & 1U) != 0 ? -size : size;
}

}  // namespace

std::size_t gpu_bytes(cuda::DataType type) {
    switch (type) {
        case cuda::real_f64:
            return 8;
        case cuda::real_f32:
        case cuda::real_i32:
            return 4;
        case cuda::real_f16:
        case cuda::real_bf16:
            return 2;
        default:
            return 1;
    }
}

// The two lowest bits of the exponent are random and the others those of 1/8, so numbers are between 1/8 and 2.
GpuPattern gpu_pattern(cuda::DataType type) {
    switch (type) {
        case cuda::real_f64:
            return {0x803F'FFFF'FFFF'FFFFU, 0x3FC0'0000'0000'0000U};
        case cuda::real_f32:
            return {repeated(0x81FF'FFFFU, 32), repeated(0x3E00'0000U, 32)};
        case cuda::real_f16:
            return {repeated(0x8FFFU, 16), repeated(0x3000U, 16)};
        case cuda::real_bf16:
            return {repeated(0x81FFU, 16), repeated(0x3E00U, 16)};
        case cuda::real_e4m3:
            return {repeated(0x9FU, 8), repeated(0x20U, 8)};
        default:
            return {};
    }
}

double gpu_number(cuda::DataType type, const unsigned char* element) {
    switch (type) {
        case cuda::real_f64:
            return element_as<double>(element);
        case cuda::real_f32:
            return static_cast<double>(element_as<float>(element));
        case cuda::real_i32:
            return element_as<std::int32_t>(element);
        case cuda::real_f16:
            return small_float(element_as<std::uint16_t>(element), 5, 10);
        case cuda::real_bf16:
            return small_float(element_as<std::uint16_t>(element), 8, 7);
        case cuda::real_e4m3:
            return small_float(*element, 4, 3);
        case cuda::real_e5m2:
            return small_float(*element, 5, 2);
        case cuda::real_i8:
            return element_as<std::int8_t>(element);
    }
    return 0;
}

Status fill_randomly(Gpu& gpu, cuda::DevicePointer at, std::size_t bytes, std::uint64_t seed, GpuPattern pattern) {
    ROOFLINE_TRY(auto kernel, gpu.kernel("fill"));
    const auto blocks = static_cast<unsigned>(4 * gpu.properties().multiprocessors);
    return gpu.launch(kernel, blocks, 256, at, static_cast<std::uint64_t>(bytes / 8), seed, pattern.keep, pattern.set);
}

}  // namespace roofline::core
