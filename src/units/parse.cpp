// Parsing of quantities.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/ascii.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

enum class Kind { flop_rate, flops, bandwidth, bytes, seconds, frequency, power, energy, price };

struct KindInfo {
    Kind kind;
    std::string_view what;  ///< for "`5 GHz` is ..."
    std::string_view example;
    bool small;   ///< milli and smaller prefixes are allowed
    bool large;   ///< kilo and larger prefixes are allowed
    bool binary;  ///< Ki and larger prefixes are allowed
};

constexpr KindInfo kinds[] = {
    {Kind::flop_rate, "a rate of operations", "197 TFLOP/s or 1.97e14", false, true, false},
    {Kind::flops, "a number of operations", "8.6 GFLOP or 8.6e9", false, true, false},
    {Kind::bandwidth, "a bandwidth", "819 GB/s, 400 Gbit/s or 8.19e11", false, true, true},
    {Kind::bytes, "a number of bytes", "16 GiB, 16 GB or 1.6e10", false, true, true},
    {Kind::seconds, "a time", "5 ms or 0.005", true, false, false},
    {Kind::frequency, "a frequency", "1.5 GHz or 1.5e9", false, true, false},
    {Kind::power, "a power", "700 W", true, true, false},
    {Kind::energy, "an energy", "2.5 kJ", true, true, false},
    {Kind::price, "a price", "2.5 USD/h", false, false, false},
};

struct UnitInfo {
    Kind kind;
    std::string_view text;  ///< in lower case, except for units whose case matters
    double factor;          ///< base units in one of it; if less than one, `divisor` keeps it exact
    double divisor;
    bool exact_case;
    bool prefixes;
};

constexpr UnitInfo units[] = {
    {Kind::flop_rate, "flop/s", 1, 1, false, true},  {Kind::flop_rate, "flops/s", 1, 1, false, true},
    {Kind::flop_rate, "flops", 1, 1, false, true},   {Kind::flop_rate, "op/s", 1, 1, false, true},
    {Kind::flop_rate, "ops/s", 1, 1, false, true},   {Kind::flop_rate, "ops", 1, 1, false, true},
    {Kind::flops, "flop", 1, 1, false, true},        {Kind::flops, "flops", 1, 1, false, true},
    {Kind::flops, "op", 1, 1, false, true},          {Kind::flops, "ops", 1, 1, false, true},
    {Kind::bandwidth, "B/s", 1, 1, true, true},      {Kind::bandwidth, "byte/s", 1, 1, false, true},
    {Kind::bandwidth, "bytes/s", 1, 1, false, true}, {Kind::bandwidth, "bit/s", 1, 8, false, true},
    {Kind::bandwidth, "bits/s", 1, 8, false, true},  {Kind::bytes, "B", 1, 1, true, true},
    {Kind::bytes, "byte", 1, 1, false, true},        {Kind::bytes, "bytes", 1, 1, false, true},
    {Kind::bytes, "bit", 1, 8, false, true},         {Kind::bytes, "bits", 1, 8, false, true},
    {Kind::seconds, "s", 1, 1, false, true},         {Kind::seconds, "sec", 1, 1, false, true},
    {Kind::seconds, "second", 1, 1, false, false},   {Kind::seconds, "seconds", 1, 1, false, false},
    {Kind::seconds, "min", 60, 1, false, false},     {Kind::seconds, "h", 3600, 1, false, false},
    {Kind::frequency, "hz", 1, 1, false, true},      {Kind::power, "w", 1, 1, false, true},
    {Kind::power, "watt", 1, 1, false, true},        {Kind::power, "watts", 1, 1, false, true},
    {Kind::energy, "j", 1, 1, false, true},          {Kind::energy, "joule", 1, 1, false, true},
    {Kind::energy, "joules", 1, 1, false, true},     {Kind::price, "usd/h", 1, 3600, false, false},
    {Kind::price, "usd/hr", 1, 3600, false, false},  {Kind::price, "usd/hour", 1, 3600, false, false},
    {Kind::price, "$/h", 1, 3600, false, false},     {Kind::price, "$/hr", 1, 3600, false, false},
    {Kind::price, "$/hour", 1, 3600, false, false},  {Kind::price, "usd/s", 1, 1, false, false},
};

struct Prefix {
    std::string_view text;
    int power;  ///< of ten, or of two when binary
    bool binary;
};

constexpr Prefix prefixes[] = {
    {"k", 3, false},  {"K", 3, false},         {"M", 6, false},         {"G", 9, false},  {"g", 9, false},
    {"T", 12, false}, {"t", 12, false},        {"P", 15, false},        {"E", 18, false}, {"m", -3, false},
    {"u", -6, false}, {"\xC2\xB5", -6, false}, {"\xCE\xBC", -6, false}, {"n", -9, false}, {"p", -12, false},
    {"ki", 10, true}, {"mi", 20, true},        {"gi", 30, true},        {"ti", 40, true}, {"pi", 50, true},
    {"ei", 60, true},
};

bool equal(std::string_view text, std::string_view wanted, bool exact_case) {
    if (text.size() != wanted.size()) {
        return false;
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        if ((exact_case ? text[i] : to_lower(text[i])) != wanted[i]) {
            return false;
        }
    }
    return true;
}

bool ends_with(std::string_view text, std::string_view end, bool exact_case) {
    return text.size() >= end.size() && equal(text.substr(text.size() - end.size()), end, exact_case);
}

const KindInfo& info_of(Kind kind) { return kinds[static_cast<std::size_t>(kind)]; }

const Prefix* find_prefix(std::string_view text, const KindInfo& kind) {
    for (const Prefix& prefix : prefixes) {
        const bool allowed = prefix.binary ? kind.binary : prefix.power > 0 ? kind.large : kind.small;
        if (allowed && equal(text, prefix.text, !prefix.binary)) {
            return &prefix;
        }
    }
    return nullptr;
}

/// A prefix and a unit.
struct Scale {
    int tens = 0;
    int twos = 0;
    double factor = 1;
    double divisor = 1;
};

std::optional<Scale> find_scale(std::string_view text, Kind wanted) {
    for (const UnitInfo& unit : units) {
        if (unit.kind != wanted || !ends_with(text, unit.text, unit.exact_case)) {
            continue;
        }
        const std::string_view before = text.substr(0, text.size() - unit.text.size());
        if (before.empty()) {
            return Scale{0, 0, unit.factor, unit.divisor};
        }
        const Prefix* prefix = unit.prefixes ? find_prefix(before, info_of(wanted)) : nullptr;
        if (prefix != nullptr) {
            return Scale{prefix->binary ? 0 : prefix->power, prefix->binary ? prefix->power : 0, unit.factor,
                         unit.divisor};
        }
    }
    return std::nullopt;
}

/// Returns the remedy for units that people write in ambiguous ways.
std::string unit_hint(std::string_view unit, const KindInfo& wanted) {
    const bool rate = wanted.kind == Kind::bandwidth;
    if (rate || wanted.kind == Kind::bytes) {
        for (const std::string_view end : {std::string_view("bps"), std::string_view("b/s"), std::string_view("b")}) {
            if (!ends_with(unit, end, false) || rate != (end.size() > 1)) {
                continue;
            }
            const std::size_t at = unit.size() - end.size();
            std::string prefix(unit.substr(0, at));
            if (!prefix.empty()) {
                if (prefix != "m" && find_prefix(prefix, wanted) == nullptr) {
                    continue;
                }
                prefix[0] = to_lower(prefix[0]) == 'k' ? 'k' : to_upper(prefix[0]);
            }
            const std::string_view per = rate ? "/s" : "";
            return unit[at] == 'B' ? fmt::format("write {}B{}", prefix, per)
                                   : fmt::format("write {0}B{1} for bytes or {0}bit{1} for bits", prefix, per);
        }
    }
    if (!wanted.small && unit.substr(0, 1) == "m") {
        return fmt::format("m is milli and M is mega; write {} such as {}", wanted.what, wanted.example);
    }
    return fmt::format("write {} such as {}", wanted.what, wanted.example);
}

tl::unexpected<Error> wrong_unit(std::string_view text, std::string_view unit, const KindInfo& wanted) {
    for (const KindInfo& other : kinds) {
        if (other.kind != wanted.kind && find_scale(unit, other.kind)) {
            return fail("unit", fmt::format("{} is {}, not {}", in_ticks(text), other.what, wanted.what),
                        unit_hint(unit, wanted));
        }
    }
    return fail("unit", fmt::format("unknown unit {}", in_ticks(unit)), unit_hint(unit, wanted));
}

/// Returns number * 10^tens, rounded once: 2.039 T is the double nearest to 2.039e12, which 2.039 * 1e12 need not be.
std::optional<double> shifted(std::string_view number, int tens) {
    int exponent = tens;
    const std::size_t e = number.find_first_of("eE");
    if (e != std::string_view::npos) {
        std::string_view written = number.substr(e + 1);
        if (written.substr(0, 1) == "+") {
            written.remove_prefix(1);
        }
        int value = 0;
        const auto parsed = std::from_chars(written.data(), written.data() + written.size(), value);
        if (parsed.ec != std::errc{} || std::abs(value) > 100000) {
            return std::nullopt;
        }
        exponent += value;
    }
    const std::string text = fmt::format("{}e{}", number.substr(0, e), exponent);
    double result = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), result).ec != std::errc{}) {
        return std::nullopt;
    }
    return result;
}

Result<double> parse_value(std::string_view given, Kind wanted_kind) {
    const KindInfo& wanted = info_of(wanted_kind);
    const std::string_view text = trimmed(given);
    const auto remedy = [&wanted] { return fmt::format("write {} such as {}", wanted.what, wanted.example); };
    if (text.empty()) {
        return fail("number", fmt::format("expected {}", wanted.what), remedy());
    }
    if (text[0] == '-' && text.size() > 1 && (is_digit(text[1]) || text[1] == '.')) {
        return fail("negative", fmt::format("{} is negative", in_ticks(text)), remedy());
    }
    double bare = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), bare);
    if (!(is_digit(text[0]) || text[0] == '.') || parsed.ec == std::errc::invalid_argument) {
        return fail("number", fmt::format("{} is not a number", in_ticks(text)), remedy());
    }
    const std::size_t length = static_cast<std::size_t>(parsed.ptr - text.data());
    const std::string_view unit = trimmed(text.substr(length));
    // A bare price is per hour, because prices per second are not usual.
    const std::optional<Scale> scale = unit.empty() && wanted_kind != Kind::price ? Scale{}
                                       : unit.empty()                             ? Scale{0, 0, 1, 3600}
                                                                                  : find_scale(unit, wanted_kind);
    if (!scale) {
        return wrong_unit(text, unit, wanted);
    }
    const std::optional<double> number = shifted(text.substr(0, length), scale->tens);
    const double value = number ? std::ldexp(*number, scale->twos) * scale->factor / scale->divisor : 0;
    if (!number || !std::isfinite(value)) {
        return fail("range", fmt::format("{} is beyond the range of numbers", in_ticks(text)), remedy());
    }
    return value;
}

template <class Q>
struct KindOf;
template <>
struct KindOf<FlopRate> {
    static constexpr Kind kind = Kind::flop_rate;
};
template <>
struct KindOf<Flops> {
    static constexpr Kind kind = Kind::flops;
};
template <>
struct KindOf<Bandwidth> {
    static constexpr Kind kind = Kind::bandwidth;
};
template <>
struct KindOf<Bytes> {
    static constexpr Kind kind = Kind::bytes;
};
template <>
struct KindOf<Seconds> {
    static constexpr Kind kind = Kind::seconds;
};
template <>
struct KindOf<Frequency> {
    static constexpr Kind kind = Kind::frequency;
};
template <>
struct KindOf<Power> {
    static constexpr Kind kind = Kind::power;
};
template <>
struct KindOf<Joules> {
    static constexpr Kind kind = Kind::energy;
};
template <>
struct KindOf<Price> {
    static constexpr Kind kind = Kind::price;
};

}  // namespace

template <class Q>
Result<Q> parse_quantity(std::string_view text) {
    return parse_value(text, KindOf<Q>::kind).map([](double value) { return Q{value}; });
}

template Result<FlopRate> parse_quantity<FlopRate>(std::string_view);
template Result<Flops> parse_quantity<Flops>(std::string_view);
template Result<Bandwidth> parse_quantity<Bandwidth>(std::string_view);
template Result<Bytes> parse_quantity<Bytes>(std::string_view);
template Result<Seconds> parse_quantity<Seconds>(std::string_view);
template Result<Frequency> parse_quantity<Frequency>(std::string_view);
template Result<Power> parse_quantity<Power>(std::string_view);
template Result<Joules> parse_quantity<Joules>(std::string_view);
template Result<Price> parse_quantity<Price>(std::string_view);

}  // namespace roofline::core
