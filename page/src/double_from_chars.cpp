#include "double_from_chars.hpp"

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns the end of `word` at the beginning of a text, whatever its case, or the beginning.
const char* behind(std::string_view word, const char* first, const char* last) {
    if (last - first < static_cast<std::ptrdiff_t>(word.size())) return first;
    const bool same = std::equal(word.begin(), word.end(), first, [](char a, char b) { return a == (b | 0x20); });
    return same ? first + word.size() : first;
}

/// Returns the end of a decimal number without a sign, or the beginning if there is none.
const char* end_of_number(const char* first, const char* last) {
    for (const std::string_view word : {"infinity", "inf", "nan"}) {
        if (const char* const end = behind(word, first, last); end != first) return end;
    }
    const char* at = std::find_if_not(first, last, is_digit);
    std::ptrdiff_t digits = at - first;
    if (at != last && *at == '.') {
        const char* const fraction = std::find_if_not(at + 1, last, is_digit);
        digits += fraction - at - 1;
        if (digits > 0) at = fraction;
    }
    if (digits == 0) return first;
    if (at != last && (*at == 'e' || *at == 'E')) {
        const char* const sign = at + 1;
        const char* const power = sign != last && (*sign == '+' || *sign == '-') ? sign + 1 : sign;
        const char* const end = std::find_if_not(power, last, is_digit);
        if (end != power) at = end;
    }
    return at;
}

/// Returns a decimal number of a few digits exactly: both the digits and the power of ten are doubles then, so that one
/// rounding is left, and that is to the nearest. Most numbers are of this kind, and strtod takes ten times as long.
std::optional<double> short_number(std::string_view text) {
    constexpr std::array<double, 23> powers{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                            1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    constexpr std::size_t most_digits = 15;
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    std::size_t at = 0;
    std::int64_t whole = 0;
    std::size_t digits = 0;
    int power = 0;
    for (bool fraction = false; at < text.size(); ++at) {
        if (is_digit(text[at])) {
            whole = whole * 10 + (text[at] - '0');
            power -= fraction ? 1 : 0;
            if (++digits > most_digits) return std::nullopt;
        } else if (text[at] == '.' && !fraction) {
            fraction = true;
        } else {
            break;
        }
    }
    if (digits == 0) return std::nullopt;
    if (at < text.size()) {
        const std::string_view rest = text.substr(at + (text.substr(at + 1).starts_with('+') ? 2 : 1));
        int written = 0;
        const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), written);
        if (error != std::errc{} || stop != rest.data() + rest.size()) return std::nullopt;
        if (written > 100 || written < -100) return std::nullopt;
        power += written;
    }
    if (power < -22 || power > 22) return std::nullopt;
    const auto number = static_cast<double>(whole);
    const double scaled = power < 0 ? number / powers[static_cast<std::size_t>(-power)]
                                    : number * powers[static_cast<std::size_t>(power)];
    return negative ? -scaled : scaled;
}

}  // namespace

namespace std {

from_chars_result from_chars(const char* first, const char* last, double& value) {
    const char* const begin = first != last && *first == '-' ? first + 1 : first;
    const char* const end = end_of_number(begin, last);
    if (end == begin) return {first, errc::invalid_argument};
    if (const auto number = short_number({first, static_cast<size_t>(end - first)})) {
        value = *number;
        return {end, errc{}};
    }
    const double read = strtod(string(first, end).c_str(), nullptr);  // musl's rounds to the nearest
    const bool digits = is_digit(*begin) || *begin == '.';
    const bool zero = std::none_of(begin, end, [](char c) { return c >= '1' && c <= '9'; });
    if (digits && (std::isinf(read) || (read == 0 && !zero))) return {end, errc::result_out_of_range};
    value = read;
    return {end, errc{}};
}

}  // namespace std
#endif
