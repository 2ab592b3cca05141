#include "base/ascii.hpp"

namespace roofline::core {

std::string lowered(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = to_lower(c);
    return result;
}

std::string uppered(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = to_upper(c);
    return result;
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string in_ticks(std::string_view text) {
    constexpr std::size_t longest = 40;
    if (text.size() <= longest) {
        return "`" + std::string(text) + "`";
    }
    std::size_t end = longest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
        --end;  // not in the middle of a character
    }
    return "`" + std::string(text.substr(0, end)) + "...`";
}

}  // namespace roofline::core
