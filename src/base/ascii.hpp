// Characters without a locale, and pieces of input prepared for a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace roofline::core {

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
[[nodiscard]] constexpr char to_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

[[nodiscard]] std::string lowered(std::string_view text);
[[nodiscard]] std::string uppered(std::string_view text);

/// Returns the text without the blanks, tabs and line ends around it.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// Returns `text` in backticks, cut if it is too long for a message.
[[nodiscard]] std::string in_ticks(std::string_view text);

}  // namespace roofline::core
