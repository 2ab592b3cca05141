// JSON from outside to values: strictly, but for the NaN and Infinity that Python writes.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "model/config.hpp"

namespace roofline {

/// Reads one JSON value. Errors, with the place: what is not JSON or not UTF-8, the same key twice in a table, nesting beyond 64,
/// more than a million values, texts beyond 64 MB. Whole numbers beyond 63 bits become numbers with a fraction.
[[nodiscard]] Result<ConfigValue> parse_json(std::string_view text, std::string_view origin);

}  // namespace roofline
