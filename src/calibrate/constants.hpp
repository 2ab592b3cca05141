// Constants and functions that the fits of all kinds of models share.
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

/// Value of a model parameter that has no effect, such as the norm order p if resources overlap perfectly.
inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// Rounds as files do, so that a fitted parameter equals the one that is read back.
[[nodiscard]] inline double four_digits(double value) {
    return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

/// The minimum number of measurements that a model is fitted to.
inline constexpr std::size_t min_rows = 8;

/// Error of a model for an unmeasured number of members if too few numbers were measured to hold one out. It is the
/// error that was observed on collectives over nodes for which several numbers were measured.
inline constexpr double unvalidated_error = 0.4;

/// Returns the distinct values of `value` among the rows in ascending order.
template <class Row, class Value>
[[nodiscard]] auto distinct(const std::vector<const Row*>& rows, Value value) {
    std::vector<std::decay_t<std::invoke_result_t<Value, const Row&>>> values;
    for (const Row* row : rows) values.push_back(std::invoke(value, *row));
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

}  // namespace roofline::core
