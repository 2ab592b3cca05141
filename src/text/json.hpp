// JSON from outside to values: strictly, but for the NaN and Infinity that Python writes.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "text/value.hpp"

namespace roofline::core {

/// Reads one JSON value; each value knows where it stands. Whole numbers beyond 63 bits become numbers with a fraction. Errors, with
/// line and column: `bad_json` what is not JSON or not UTF-8, `cut_off` an end in the middle, `defined_twice` a key that stands twice in
/// a table, `too_deep` more than 64 levels of nesting, `bad_number` a number beyond what a double holds, `too_large` more than a million
/// values or 64 MB.
[[nodiscard]] Result<FileValue> parse_json(std::string_view text, std::string_view origin);

}  // namespace roofline::core
