#include "double_from_chars.hpp"

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
#include <algorithm>
#include <cmath>
#include <cstdlib>
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

}  // namespace

namespace std {

from_chars_result from_chars(const char* first, const char* last, double& value) {
    const char* const begin = first != last && *first == '-' ? first + 1 : first;
    const char* const end = end_of_number(begin, last);
    if (end == begin) return {first, errc::invalid_argument};
    const double read = strtod(string(first, end).c_str(), nullptr);  // musl's rounds to the nearest
    const bool digits = is_digit(*begin) || *begin == '.';
    const bool zero = std::none_of(begin, end, [](char c) { return c >= '1' && c <= '9'; });
    if (digits && (std::isinf(read) || (read == 0 && !zero))) return {end, errc::result_out_of_range};
    value = read;
    return {end, errc{}};
}

}  // namespace std
#endif
