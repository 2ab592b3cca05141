// Parsing of sizes: whole numbers, exactly.
#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <optional>

#include "base/ascii.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();

/// The value of "k" and so on; 0 for an unknown multiplier.
std::uint64_t multiplier(std::string_view text) {
    if (text.empty()) {
        return 1;
    }
    const bool binary = text.size() == 2 && (text[1] == 'i' || text[1] == 'I');
    if (text.size() > 1 && !binary) {
        return 0;
    }
    const std::uint64_t step = binary ? 1024 : 1000;
    switch (text[0]) {
        case 'k':
        case 'K':
            return step;
        case 'M':
            return step * step;
        case 'm':
            return binary ? step * step : 0;
        case 'G':
        case 'g':
            return step * step * step;
        case 'T':
        case 't':
            return step * step * step * step;
        default:
            return 0;
    }
}

/// digits * 10^exponent, with the digits' trailing zeros moved into the exponent.
struct Number {
    std::string digits;
    std::int64_t exponent = 0;
    std::string_view rest;  ///< the text after the number
};

std::optional<Number> read_number(std::string_view text) {
    Number number;
    std::size_t at = 0;
    bool any = false;
    bool point = false;
    for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !point)); ++at) {
        if (text[at] == '.') {
            point = true;
            continue;
        }
        any = true;
        if (!number.digits.empty() || text[at] != '0') {
            number.digits.push_back(text[at]);
        }
        number.exponent -= point ? 1 : 0;
    }
    if (!any) {
        return std::nullopt;
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        const std::size_t sign = at + 1 < text.size() && text[at + 1] == '+' ? 1 : 0;
        int exponent = 0;
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data() + at + 1 + sign, end, exponent);
        if (parsed.ec == std::errc::invalid_argument) {
            return std::nullopt;
        }
        if (parsed.ec != std::errc{}) {
            exponent = text[at + 1] == '-' ? -1000000 : 1000000;
        }
        number.exponent += exponent;
        at = static_cast<std::size_t>(parsed.ptr - text.data());
    }
    while (!number.digits.empty() && number.digits.back() == '0') {
        number.digits.pop_back();
        ++number.exponent;
    }
    number.rest = trimmed(text.substr(at));
    return number;
}

enum class Trouble { none, fraction, too_large };

struct Whole {
    std::uint64_t value = 0;
    Trouble trouble = Trouble::none;
};

/// digits * 10^exponent * factor.
Whole whole(const Number& number, std::uint64_t factor) {
    __extension__ using Wide = unsigned __int128;
    constexpr std::size_t max_digits = 25;  // multiplied by a factor of at most 1024^4 < 2^41 it stays under 2^128
    if (number.digits.size() > max_digits) {
        return {0, number.exponent < 0 ? Trouble::fraction : Trouble::too_large};
    }
    Wide value = 0;
    for (const char digit : number.digits) {
        value = value * 10 + static_cast<Wide>(digit - '0');
    }
    value *= factor;
    std::int64_t exponent = value == 0 ? 0 : number.exponent;
    for (; exponent < 0; ++exponent) {
        if (value % 10 != 0) {
            return {0, Trouble::fraction};
        }
        value /= 10;
    }
    for (; exponent > 0 && value <= largest; --exponent) {
        value *= 10;
    }
    if (value > largest) {
        return {0, Trouble::too_large};
    }
    return {static_cast<std::uint64_t>(value), Trouble::none};
}

}  // namespace

Result<std::int64_t> parse_size(std::string_view text) {
    const std::string hint = "write a positive whole number, such as 4096, 4k (4000) or 4Ki (4096)";
    text = trimmed(text);
    if (text.size() > 1 && text[0] == '-' && is_digit(text[1])) {
        return fail("size", fmt::format("the size {} is negative", in_ticks(text)), hint);
    }
    const std::optional<Number> number = read_number(text);
    if (!number) {
        return fail("size", fmt::format("{} is not a size", in_ticks(text)), hint);
    }
    const std::uint64_t factor = multiplier(number->rest);
    if (factor == 0) {
        return fail("size", fmt::format("unknown multiplier {} in the size {}", in_ticks(number->rest), in_ticks(text)),
                    "k, M, G and T are powers of 1000; Ki, Mi, Gi and Ti of 1024");
    }
    const auto [value, trouble] = whole(*number, factor);
    if (trouble == Trouble::fraction) {
        return fail("size", fmt::format("the size {} is not whole", in_ticks(text)), hint);
    }
    if (trouble == Trouble::too_large) {
        return fail("size", fmt::format("the size {} is beyond 2^63 - 1", in_ticks(text)), hint);
    }
    if (value == 0) {
        return fail("size", "a size cannot be zero", hint);
    }
    return static_cast<std::int64_t>(value);
}

}  // namespace roofline::core
