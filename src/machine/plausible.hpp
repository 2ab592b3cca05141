// Plausible ranges of one chip's figures: a value outside is a mistake or an attack, and times would overflow.
#pragma once

#include <string_view>

#include "units/quantity.hpp"

namespace roofline::core {

struct Plausible {
    double least;
    double most;
    std::string_view example;  ///< an example of such a figure
    std::string_view unit;     ///< in which all its digits are written
};

template <class Q>
inline constexpr Plausible plausible{};
template <>
inline constexpr Plausible plausible<FlopRate>{1, 1e21, "197 TFLOP/s", "FLOP/s"};
template <>
inline constexpr Plausible plausible<Bandwidth>{1, 1e20, "819 GB/s", "B/s"};
template <>
inline constexpr Plausible plausible<Bytes>{1, 1e18, "16 GiB", "B"};
template <>
inline constexpr Plausible plausible<Seconds>{1e-15, 1e3, "1 us", "s"};
template <>
inline constexpr Plausible plausible<Frequency>{1, 1e13, "1.5 GHz", "Hz"};
template <>
inline constexpr Plausible plausible<Power>{1e-6, 1e9, "700 W", "W"};
template <>
inline constexpr Plausible plausible<Price>{1e-9 / 3600, 1e9 / 3600, "1.2 USD/h", "USD/s"};

}  // namespace roofline::core
