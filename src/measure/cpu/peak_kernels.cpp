#include "measure/cpu/peak_kernels.hpp"

#include <bit>
#include <cstring>

namespace roofline::core {

namespace {

constexpr std::size_t most_operands = 4;
constexpr std::size_t alignment = 64;

template <class T>
void put(char* memory, T value) {
    std::memcpy(memory, &value, sizeof value);
}

template <class T>
T get(const char* memory) {
    T value;
    std::memcpy(&value, memory, sizeof value);
    return value;
}

/// The bits of zero, or of a number that f16 holds exactly as a normal number.
std::uint16_t half_bits(double value) {
    const auto single = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    if ((single & 0x7fffffffU) == 0) return 0;
    const std::uint32_t sign = (single >> 16) & 0x8000U;
    const std::uint32_t exponent = ((single >> 23) & 0xffU) - 127 + 15;
    return static_cast<std::uint16_t>(sign | (exponent << 10) | ((single >> 13) & 0x3ffU));
}

double half_value(std::uint16_t bits) {
    if ((bits & 0x7fffU) == 0) return 0;
    const std::uint32_t sign = (std::uint32_t{bits} & 0x8000U) << 16;
    const std::uint32_t exponent = ((std::uint32_t{bits} >> 10) & 0x1fU) + 127 - 15;
    return static_cast<double>(std::bit_cast<float>(sign | (exponent << 23) | ((std::uint32_t{bits} & 0x3ffU) << 13)));
}

/// Initial values, different for each accumulator.
double first_value(std::size_t accumulator) { return 1 + static_cast<double>(accumulator % 8) / 8; }

}  // namespace

std::size_t lane_bytes(RegisterLane lane) {
    switch (lane) {
        case RegisterLane::f64:
            return 8;
        case RegisterLane::f32:
        case RegisterLane::s32:
            return 4;
        case RegisterLane::f16:
        case RegisterLane::bf16:
        case RegisterLane::s16:
            return 2;
        case RegisterLane::s8:
        case RegisterLane::u8:
            return 1;
    }
    return 1;
}

void fill_lanes(RegisterLane lane, double value, char* memory, std::size_t bytes) {
    for (std::size_t at = 0; at + lane_bytes(lane) <= bytes; at += lane_bytes(lane)) {
        char* here = memory + at;
        const auto whole = static_cast<std::int64_t>(value);
        switch (lane) {
            case RegisterLane::f64:
                put(here, value);
                break;
            case RegisterLane::f32:
                put(here, static_cast<float>(value));
                break;
            case RegisterLane::f16:
                put(here, half_bits(value));
                break;
            case RegisterLane::bf16:
                put(here, static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16));
                break;
            case RegisterLane::s32:
                put(here, static_cast<std::int32_t>(whole));
                break;
            case RegisterLane::s16:
                put(here, static_cast<std::int16_t>(whole));
                break;
            case RegisterLane::s8:
                put(here, static_cast<std::int8_t>(whole));
                break;
            case RegisterLane::u8:
                put(here, static_cast<std::uint8_t>(whole));
                break;
        }
    }
}

double read_lane(RegisterLane lane, const char* memory) {
    switch (lane) {
        case RegisterLane::f64:
            return get<double>(memory);
        case RegisterLane::f32:
            return static_cast<double>(get<float>(memory));
        case RegisterLane::f16:
            return half_value(get<std::uint16_t>(memory));
        case RegisterLane::bf16:
            return static_cast<double>(std::bit_cast<float>(std::uint32_t{get<std::uint16_t>(memory)} << 16));
        case RegisterLane::s32:
            return get<std::int32_t>(memory);
        case RegisterLane::s16:
            return get<std::int16_t>(memory);
        case RegisterLane::s8:
            return get<std::int8_t>(memory);
        case RegisterLane::u8:
            return get<std::uint8_t>(memory);
    }
    return 0;
}

std::vector<PeakKernel> all_peak_kernels() {
    std::vector<PeakKernel> kernels;
    add_x86_kernels(kernels);
    add_amx_kernels(kernels);
    add_arm_kernels(kernels);
    add_plain_kernels(kernels);
    return kernels;
}

std::vector<PeakKernel> peak_kernels(const CpuFeatures& features) {
    std::vector<PeakKernel> usable;
    for (PeakKernel& kernel : all_peak_kernels()) {
        if (features.has(kernel.needs)) usable.push_back(std::move(kernel));
    }
    return usable;
}

PeakRun::PeakRun(const PeakKernel& kernel)
    : kernel_(&kernel),
      memory_((kernel.steps.size() + most_operands) * kernel.register_bytes + alignment),
      accumulators_(memory_.data()),
      operands_(nullptr),
      lanes_(kernel.register_bytes / lane_bytes(kernel.accumulator)) {
    accumulators_ += (alignment - reinterpret_cast<std::uintptr_t>(accumulators_) % alignment) % alignment;
    operands_ = accumulators_ + kernel.steps.size() * kernel.register_bytes;
    for (std::size_t i = 0; i < kernel.operands.size() && i < most_operands; ++i) {
        const PeakOperand& operand = kernel.operands[i];
        fill_lanes(operand.lane, operand.value, operands_ + i * kernel.register_bytes, kernel.register_bytes);
    }
}

bool PeakRun::make(std::int64_t passes) {
    const PeakKernel& kernel = *kernel_;
    for (std::size_t i = 0; i < kernel.steps.size(); ++i) {
        fill_lanes(kernel.accumulator, first_value(i), accumulators_ + i * kernel.register_bytes,
                   kernel.register_bytes);
    }
    kernel.run(accumulators_, operands_, passes);
    const std::size_t bytes = lane_bytes(kernel.accumulator);
    bool right = true;
    for (std::size_t i = 0; i < kernel.steps.size(); ++i) {
        const bool whole = kernel.accumulator == RegisterLane::s32;
        const double first = whole ? static_cast<double>(static_cast<int>(first_value(i))) : first_value(i);
        const double expected = first + kernel.steps[i] * static_cast<double>(passes);
        for (std::size_t lane = 0; lane < lanes_; ++lane) {
            const char* at = accumulators_ + i * kernel.register_bytes + lane * bytes;
            right = right && read_lane(kernel.accumulator, at) == expected;
        }
    }
    return right;
}

}  // namespace roofline::core
