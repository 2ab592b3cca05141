// What fits of all kinds of laws share.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

namespace roofline::core {

/// What a constant of a law is that plays no part, such as the p of resources that hide behind each other.
inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// Rounded as files show it, so that what was fitted is what is read again.
[[nodiscard]] inline double four_digits(double value) {
    return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

/// A law is fitted to so many rows at least.
inline constexpr std::size_t fewest_rows = 8;

/// The error of a law for a number of members that was not measured, where too few counts were to hold one out: what
/// the series of collectives over nodes with several counts showed.
inline constexpr double unproven = 0.4;

/// The different values that `value` has among the rows, ascending.
template <class Row, class Value>
[[nodiscard]] auto distinct(const std::vector<const Row*>& rows, Value value) {
    std::vector<std::decay_t<std::invoke_result_t<Value, const Row&>>> values;
    for (const Row* row : rows) values.push_back(std::invoke(value, *row));
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

}  // namespace roofline::core
