#include "units/range_text.hpp"

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

bool in_exponent(std::string_view text, std::size_t sign) {
    constexpr std::string_view digits = "0123456789.";
    return sign >= 2 && (text[sign - 1] == 'e' || text[sign - 1] == 'E') &&
           digits.find(text[sign - 2]) != std::string_view::npos && sign + 1 < text.size() &&
           digits.find(text[sign + 1]) != std::string_view::npos;
}

}  // namespace

RangeText split_range(std::string_view text) {
    RangeText range;
    text = trimmed(text);
    const std::size_t dots = text.find("..");
    if (dots == std::string_view::npos) {
        for (std::size_t comma = text.find(','); comma != std::string_view::npos; comma = text.find(',')) {
            range.items.push_back(trimmed(text.substr(0, comma)));
            text.remove_prefix(comma + 1);
        }
        range.items.push_back(trimmed(text));
        return range;
    }
    range.from = trimmed(text.substr(0, dots));
    range.to = trimmed(text.substr(dots + 2));
    std::size_t sign = range.to.find_first_of("*+", range.to.starts_with('*') ? 1 : 0);
    while (sign != std::string_view::npos && in_exponent(range.to, sign)) sign = range.to.find_first_of("*+", sign + 1);
    if (sign == std::string_view::npos) return range;
    range.increment = range.to[sign];
    range.by = trimmed(range.to.substr(sign + 1));
    range.to = trimmed(range.to.substr(0, sign));
    return range;
}

}  // namespace roofline::core
