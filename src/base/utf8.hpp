// UTF-8, strictly: overlong forms, surrogates and what lies beyond the last character are malformed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace roofline {

struct CodePoint {
    std::uint32_t value = 0;
    std::size_t length = 1;  ///< bytes; 1 for a malformed one
    bool valid = false;
};

/// The code point at the front of `text`, which is not empty.
[[nodiscard]] CodePoint decode_utf8(std::string_view text);

/// Characters that a terminal obeys instead of showing.
[[nodiscard]] constexpr bool is_control(const CodePoint& c) {
    return c.valid && (c.value < 0x20 || (c.value >= 0x7F && c.value < 0xA0));
}

/// True for a byte inside a character, after its first.
[[nodiscard]] constexpr bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace roofline
