#include "base/utf8.hpp"

#include <algorithm>
#include <array>

namespace roofline::core {

CodePoint decode_utf8(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
    const std::uint32_t first = byte(0);
    if (first < 0x80) return {first, 1, true};
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
    std::uint32_t value = first & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if (!continues_character(text[i])) return {};
        value = (value << 6U) | (byte(i) & 0x3FU);
    }
    constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (value < least[length] || value > 0x10FFFF || surrogate) return {};
    return {value, length, true};
}

std::string with_directions_shown(std::string_view text) {
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        // They begin with one of two bytes, so all others are skipped at once.
        const std::size_t plain = std::min(text.find_first_of("\xD8\xE2"), text.size());
        shown += text.substr(0, plain);
        text.remove_prefix(plain);
        if (text.empty()) break;
        const CodePoint c = decode_utf8(text);
        if (is_direction(c)) {
            constexpr std::string_view digits = "0123456789abcdef";
            shown += "\\u";
            for (const unsigned shift : {12U, 8U, 4U, 0U}) shown += digits[(c.value >> shift) & 0xFU];
        } else {
            shown += text.substr(0, c.length);
        }
        text.remove_prefix(c.length);
    }
    return shown;
}

}  // namespace roofline::core
