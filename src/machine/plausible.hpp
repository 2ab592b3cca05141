// Plausible ranges of one chip's figures: a value outside is a mistake or an attack, and times would overflow.
#pragma once

#include <string_view>

#include "units/quantity.hpp"

namespace roofline::core {

struct Plausible {
    double least;
    double most;
    std::string_view example;  ///< an example of such a figure
};

template <class Q>
inline constexpr Plausible plausible{};
template <>
inline constexpr Plausible plausible<FlopRate>{1, 1e21, "197 TFLOP/s"};
template <>
inline constexpr Plausible plausible<Bandwidth>{1, 1e20, "819 GB/s"};
template <>
inline constexpr Plausible plausible<Bytes>{1, 1e18, "16 GiB"};
template <>
inline constexpr Plausible plausible<Seconds>{1e-15, 1e3, "1 us"};
template <>
inline constexpr Plausible plausible<Frequency>{1, 1e13, "1.5 GHz"};
template <>
inline constexpr Plausible plausible<Power>{1e-6, 1e9, "700 W"};
template <>
inline constexpr Plausible plausible<Price>{1e-9 / 3600, 1e9 / 3600, "1.2 USD/h"};

}  // namespace roofline::core
