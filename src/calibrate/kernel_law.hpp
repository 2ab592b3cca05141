// The law of a kernel's expected time: fixed costs, and the p-norm of what its resources take at the rates it achieves.
#pragma once

#include <array>
#include <limits>

namespace roofline {

/// What one kernel asks for, as the time that takes at the machine's rates. So constants are fractions of those rates, and follow
/// them when they change.
struct KernelPoint {
    double math_s = 0;    ///< of the matrix units, or of what stands in for them
    double vector_s = 0;  ///< of the vector units
    double memory_s = 0;  ///< of the main memory
    double other_s = 0;   ///< of all other levels together: caches that tiles cross, the link to the host
    double depth = 0;     ///< elements that one result of its deepest product adds up: K of a matmul

    bool operator==(const KernelPoint&) const = default;
};

/// fixed + ramp * depth + ((math_s/math)^p + (vector_s/vector)^p + (memory_s/memory)^p + other_s^p)^(1/p). With no fixed cost, no
/// ramp and fractions of 1 it is the lower bound at p = infinity (everything overlaps) and the upper bound at p = 1 (nothing does).
struct KernelLaw {
    double fixed_s = 0;  ///< what a kernel takes that has next to nothing to do: its launch, its first and last access
    double ramp_s =
        0;            ///< for every element of the depth: one result is added up in order, however many units there are
    double math = 1;  ///< fraction of the matrix units' rate that is achieved
    double vector = 1;
    double memory = 1;
    double p = std::numeric_limits<double>::infinity();  ///< at least 1

    bool operator==(const KernelLaw&) const = default;
};

/// Seconds.
[[nodiscard]] double seconds_of(const KernelLaw& law, const KernelPoint& point);

/// The parts of the norm: math, vector, memory, other; each at the rate that is achieved.
inline constexpr std::size_t kernel_parts = 4;
[[nodiscard]] std::array<double, kernel_parts> parts_of(const KernelLaw& law, const KernelPoint& point);

/// (sum of parts^p)^(1/p) of numbers that are not negative, without overflow on the way.
[[nodiscard]] double norm_of(const std::array<double, kernel_parts>& parts, double p);

}  // namespace roofline
