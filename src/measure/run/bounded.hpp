// Numbers of the reference with what rounding explains: how far from each one that was computed in its own precision may be.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "units/dtype.hpp"

namespace roofline::core {

/// The bound of what overflows where it is stored: nothing is said of it.
inline constexpr double unbounded = std::numeric_limits<double>::infinity();

struct Bounded {
    double value = 0;
    double bound = 0;  ///< largest absolute error that rounding explains
};

/// In what an operation computes.
struct Rounding {
    double unit = 0x1p-24;  ///< half a unit in the last place, relative
    bool whole = false;     ///< whole numbers of 32 bits that wrap; nothing is rounded

    explicit Rounding(Dtype sums);

    /// Of a sum of so many terms: rounding goes either way, so errors grow with the root of their number.
    [[nodiscard]] double of_sum(double magnitude, double terms) const;
};

/// A whole number as 32 bits keep it.
[[nodiscard]] double as_int32(std::uint64_t bits);
[[nodiscard]] std::uint64_t bits_of(double whole);

/// The most arguments that an elementwise function has.
inline constexpr std::size_t most_arguments = 3;

/// An elementwise function but `rope` and `unrope`, which need a neighbour.
[[nodiscard]] Bounded mapped(const std::string& function, const std::array<Bounded, most_arguments>& arguments,
                             const Rounding& rounding);

/// A row of what works along dimensions, of one element where it reduces. `second` is what `scan` adds, and what derivatives are
/// multiplied with.
[[nodiscard]] std::vector<Bounded> along_row(const std::string& function, std::vector<Bounded> row,
                                             const std::vector<Bounded>& second, const Rounding& rounding);

/// What storing adds: rounding to the dtype, saturation of whole numbers.
[[nodiscard]] Bounded stored(Bounded number, Dtype dtype);

}  // namespace roofline::core
