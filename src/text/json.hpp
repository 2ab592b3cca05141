// A strict JSON parser that also accepts the NaN and Infinity that Python writes.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "text/value.hpp"

namespace roofline::core {

/// Parses one JSON value; each value knows its position. Whole numbers beyond 63 bits become floating-point numbers.
/// Errors, with line and column: `bad_json` for text that is not JSON or not UTF-8, `cut_off` for an incomplete text,
/// `defined_twice` for a key that occurs twice in an object, `too_deep` beyond 64 levels of nesting, `bad_number` for a
/// number beyond the range of a double, `too_large` beyond a million values or 64 MB.
[[nodiscard]] Result<FileValue> parse_json(std::string_view text, std::string_view origin);

}  // namespace roofline::core
