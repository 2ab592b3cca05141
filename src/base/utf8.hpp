// Strict UTF-8: overlong forms, surrogates and code points beyond the last character are malformed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace roofline::core {

struct CodePoint {
    std::uint32_t value = 0;
    std::size_t length = 1;  ///< in bytes; 1 for a malformed one
    bool valid = false;
};

/// Returns the code point at the front of `text`, which must not be empty.
[[nodiscard]] CodePoint decode_utf8(std::string_view text);

/// True for characters that a terminal obeys instead of showing.
[[nodiscard]] constexpr bool is_control(const CodePoint& c) {
    return c.valid && (c.value < 0x20 || (c.value >= 0x7F && c.value < 0xA0));
}

/// True for characters that change the direction in which text is shown, which can disguise its meaning
/// (CVE-2021-42574).
[[nodiscard]] constexpr bool is_direction(const CodePoint& c) {
    return c.valid && (c.value == 0x061C || c.value == 0x200E || c.value == 0x200F ||
                       (c.value >= 0x202A && c.value <= 0x202E) || (c.value >= 0x2066 && c.value <= 0x2069));
}

/// Replaces such characters by "\u202e", which is equivalent in JSON.
[[nodiscard]] std::string with_directions_shown(std::string_view text);

/// True for a byte inside a character, after its first.
[[nodiscard]] constexpr bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace roofline::core
