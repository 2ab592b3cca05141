// A strict reader of YAML configurations: what people write by hand, without what can make a small text large or mean
// something that only the program which reads it knows.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "text/value.hpp"

namespace roofline::core {

/// Reads one YAML document; each value knows its position. Words without quotes are what PyYAML makes of them: numbers
/// (also 10_000), `true` as well as `yes` and `on`, `null` as well as `~`; numbers with leading zeros, which YAML 1.1
/// reads in base 8, stay texts. An empty text is an empty table. Errors, with line and column: `bad_yaml` for a text
/// that is not YAML or not UTF-8, a key that is no word, a second document; `defined_twice` for a key that occurs twice
/// in a table; `no_alias` for an alias, and `no_tag` for a tag, which are not read; `too_deep` beyond 64 levels of
/// nesting; `too_large` beyond 100,000 values or 1 MiB.
[[nodiscard]] Result<FileValue> parse_yaml(std::string_view text, std::string_view origin);

}  // namespace roofline::core
