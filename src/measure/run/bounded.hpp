// Numbers of the reference, each with the largest error that rounding in the program's own precision explains.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "units/dtype.hpp"

namespace roofline::core {

/// Bound of a number that overflows where it is stored: any computed value is accepted.
inline constexpr double unbounded = std::numeric_limits<double>::infinity();

struct Bounded {
    double value = 0;
    double bound = 0;  ///< largest absolute error that rounding explains
};

/// Describes the arithmetic of an operation.
struct Rounding {
    double unit = 0x1p-24;  ///< half a unit in the last place, relative
    bool whole = false;     ///< 32-bit integers that wrap; nothing is rounded

    explicit Rounding(Dtype sums);

    /// Error bound of a sum of `terms` terms. Rounding errors have either sign, so they grow with the square root of
    /// the number of terms.
    [[nodiscard]] double of_sum(double magnitude, double terms) const;
};

/// The 32-bit integer with the low bits of `bits`.
[[nodiscard]] double as_int32(std::uint64_t bits);
[[nodiscard]] std::uint64_t bits_of(double whole);

/// Largest number of arguments of an elementwise function.
inline constexpr std::size_t max_arguments = 3;

/// Result of an elementwise function other than `rope` and `unrope`, which need a neighbouring element.
[[nodiscard]] Bounded mapped(const std::string& function, const std::array<Bounded, max_arguments>& arguments,
                             const Rounding& rounding);

/// Result of a function that works along dimensions, for one row; a reduction returns one element. `second` holds the
/// summands of `scan` and the factors of derivatives.
[[nodiscard]] std::vector<Bounded> along_row(const std::string& function, std::vector<Bounded> row,
                                             const std::vector<Bounded>& second, const Rounding& rounding);

/// Adds the effect of storing a number: rounding to the dtype, and saturation of integers.
[[nodiscard]] Bounded stored(Bounded number, Dtype dtype);

}  // namespace roofline::core
