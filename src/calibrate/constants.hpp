// Constants as they are written into files.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <limits>

namespace roofline {

/// What a constant of a law is that plays no part, such as the p of resources that hide behind each other.
inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// Rounded as files show it, so that what was fitted is what is read again.
[[nodiscard]] inline double four_digits(double value) {
    return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

}  // namespace roofline
