// Printing of quantities; parse.cpp and size.cpp parse them.
#include "units/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

namespace roofline::core {

namespace {

constexpr int lowest_group = -4;
constexpr std::array<std::string_view, 11> prefix_letters{"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};

/// 10^(3 * group).
double group_factor(int group) { return std::pow(10.0, 3 * group); }

/// The parts of a number in scientific notation.
struct Decimal {
    std::string digits;  ///< without the point
    int exponent = 0;    ///< of the first digit
};

Decimal decimal(std::string_view text) {
    const std::size_t e = text.find('e');
    Decimal result;
    for (const char c : text.substr(0, e)) {
        if (c != '.') {
            result.digits.push_back(c);
        }
    }
    int exponent = 0;
    for (const char c : text.substr(e + 2)) {
        exponent = exponent * 10 + (c - '0');
    }
    result.exponent = text[e + 1] == '-' ? -exponent : exponent;
    return result;
}

Decimal decimal(double value, int digits) { return decimal(fmt::format("{:.{}e}", value, digits - 1)); }

/// The fewest digits that read back as the same positive number. (libc++ has std::to_chars for this with tables of 100
/// kB, which the page would contain.)
Decimal shortest(double value) {
    const std::string text = fmt::format("{}", value);  // "0.005", "240000", "8.19e+11"
    const std::size_t e = std::min(text.find('e'), text.size());
    Decimal result;
    result.digits = text.substr(0, e);
    if (e < text.size()) result.exponent = std::stoi(text.substr(e + 1));
    const std::size_t point = std::min(result.digits.find('.'), e);
    if (point < e) result.digits.erase(point, 1);
    const std::size_t first = result.digits.find_first_not_of('0');
    result.exponent += static_cast<int>(point) - 1 - static_cast<int>(first);
    result.digits.erase(result.digits.find_last_not_of('0') + 1);
    result.digits.erase(0, first);
    return result;
}

/// "1.50" -> "1.5", "12.0" -> "12"; a text without a point is unchanged.
std::string without_trailing_zeros(std::string text) {
    if (text.find('.') != std::string::npos) {
        text.resize(text.find_last_not_of('0') + 1);
        if (text.back() == '.') {
            text.pop_back();
        }
    }
    return text;
}

/// Three digits and a prefix between the groups `first` and `last` (of thousands).
std::string prefixed(double value, std::string_view unit, int first, int last) {
    if (value == 0 || !std::isfinite(value)) {
        return fmt::format("{} {}", number_text(value), unit);
    }
    // The value is rounded before the prefix is chosen: 999.7 us is 1 ms.
    const Decimal rounded = decimal(std::abs(value), 3);
    const int group = static_cast<int>(std::floor(rounded.exponent / 3.0));
    if (group > last && last > 0) {
        return fmt::format("{} {}", number_text(value), unit);
    }
    if (group < first || group > last) {
        const int nearest_group = group < first ? first : last;
        const std::string_view prefix = prefix_letters[static_cast<std::size_t>(nearest_group - lowest_group)];
        return fmt::format("{} {}{}", number_text(value / group_factor(nearest_group)), prefix, unit);
    }
    std::string digits = rounded.digits;
    const int point = rounded.exponent - 3 * group + 1;
    digits.insert(static_cast<std::size_t>(point), ".");
    return fmt::format("{}{} {}{}", value < 0 ? "-" : "", without_trailing_zeros(std::move(digits)),
                       prefix_letters[static_cast<std::size_t>(group - lowest_group)], unit);
}

}  // namespace

std::string capacity_text(Bytes capacity) {
    constexpr std::array<std::string_view, 6> units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = capacity.value / 1024;
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < units.size()) {
        value /= 1024;
        ++unit;
    }
    const double tenths = value * 10;
    const bool exact = std::isfinite(tenths) && std::abs(tenths - std::round(tenths)) <= 1e-9 * tenths;
    if (value < 1 || !exact) {
        return to_text(capacity);
    }
    return fmt::format("{} {}", without_trailing_zeros(fmt::format("{:.1f}", value)), units[unit]);
}

std::string number_text(double value, int digits) {
    if (std::isnan(value)) {
        return "nan";
    }
    if (std::isinf(value)) {
        return value < 0 ? "-inf" : "inf";
    }
    if (value == 0) {
        return "0";
    }
    const int wanted = digits < 1 ? 1 : digits > 17 ? 17 : digits;
    const int exponent = decimal(std::abs(value), wanted).exponent;
    if (exponent < -4 || (exponent >= 7 && exponent >= wanted)) {
        return fmt::format("{:.{}g}", value, wanted);
    }
    const int decimals = wanted - 1 - exponent;
    return without_trailing_zeros(fmt::format("{:.{}f}", value, decimals > 0 ? decimals : 0));
}

std::string exact_text(double value) {
    if (!std::isfinite(value) || value == 0) {
        return number_text(value);
    }
    const auto [digits, exponent] = shortest(std::abs(value));
    const std::string sign = value < 0 ? "-" : "";
    const int length = static_cast<int>(digits.size());
    std::string plain;
    const int whole_digits = exponent + 1;
    if (exponent < 0) {
        plain = "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
    } else if (whole_digits >= length) {
        plain = digits + std::string(static_cast<std::size_t>(whole_digits - length), '0');
    } else {
        plain = std::string(digits).insert(static_cast<std::size_t>(whole_digits), ".");
    }
    std::string scientific = digits;
    if (length > 1) {
        scientific.insert(1, ".");
    }
    scientific += "e" + std::to_string(exponent);
    const bool easy_to_count = exponent >= -3 && exponent < 6;
    return sign + (easy_to_count || plain.size() <= scientific.size() ? plain : scientific);
}

std::string grouped(std::int64_t value) {
    std::string digits = std::to_string(value);
    const std::size_t sign = value < 0 ? 1 : 0;
    for (std::size_t at = digits.size(); at > sign + 3;) {
        at -= 3;
        digits.insert(at, ",");
    }
    return digits;
}

std::string percent_text(double fraction) {
    const double percent = fraction * 100;
    if (percent > 0 && percent < 1) return number_text(percent, 2);
    // 1 - 2^-40 counts as 100 %, because it is rounding; 99.97 % does not.
    if (percent >= 99.5 && fraction < 1 - 1e-12) return fmt::format("{:.1f}", std::floor(percent * 10) / 10);
    constexpr double long_number = 1e7;  // further digits would say nothing, and a ratio may have 300 of them
    return std::abs(percent) < long_number ? fmt::format("{:.0f}", percent) : number_text(percent);
}

}  // namespace roofline::core

namespace roofline {

std::string to_text(Flops q) { return core::prefixed(q.value, "FLOP", 0, 6); }
std::string to_text(Bytes q) { return core::prefixed(q.value, "B", 0, 6); }
std::string to_text(Seconds q) { return core::prefixed(q.value, "s", -4, 0); }
std::string to_text(FlopRate q) { return core::prefixed(q.value, "FLOP/s", 0, 6); }
std::string to_text(Bandwidth q) { return core::prefixed(q.value, "B/s", 0, 6); }
std::string to_text(Frequency q) { return core::prefixed(q.value, "Hz", 0, 6); }
std::string to_text(Power q) { return core::prefixed(q.value, "W", -3, 6); }
std::string to_text(Joules q) { return core::prefixed(q.value, "J", -4, 6); }
std::string to_text(Price q) { return core::number_text(q.value * 3600) + " USD/h"; }
std::string to_text(Intensity q) { return core::number_text(q.value) + " FLOP/B"; }

}  // namespace roofline
