#include "report/plot/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "units/text.hpp"

namespace roofline::core {
namespace {

constexpr int kMaxLabels = 9;
constexpr int kMaxMinorDecades = 3;  // most decades between labels for which each decade gets a grid line

/// Returns 10^exponent, exactly if a double can represent it.
double power_of_ten(int exponent) { return std::pow(10.0, exponent); }

/// Rounds to twelve digits, which removes rounding errors such as 0.30000000000000004 and exceeds the precision of all
/// labels.
std::string trimmed(double value) { return fmt::format("{:.12g}", value); }

}  // namespace

double PlotAxis::at(double value) const {
    const double part = log ? (std::log10(value) - std::log10(low)) / (std::log10(high) - std::log10(low))
                            : (value - low) / (high - low);
    return from_px + part * (to_px - from_px);
}

bool PlotAxis::holds(double value) const {
    const double px = at(value);
    return px >= std::min(from_px, to_px) - 0.01 && px <= std::max(from_px, to_px) + 0.01;
}

double PlotAxis::decade_px() const { return std::abs(to_px - from_px) / (std::log10(high) - std::log10(low)); }

void widen_decades(double& low, double& high, double decades) {
    const double lacking = decades - (std::log10(high) - std::log10(low));
    if (lacking <= 0) return;
    low /= std::pow(10.0, lacking / 2);
    high *= std::pow(10.0, lacking / 2);
}

std::string tick_label(double value, TickStyle style) {
    const double size = std::abs(value);
    if (size == 0) return "0";
    if (size < 1e-4 || size >= 1e21) return fmt::format("{:.3g}", value);
    const bool prefixed = style == TickStyle::si ? size >= 1e3 : size >= 1e6;
    if (!prefixed) {
        const bool whole = size >= 1e4 && value == std::floor(value);
        return whole ? grouped(static_cast<std::int64_t>(value)) : trimmed(value);
    }
    constexpr std::array<std::string_view, 6> prefixes{"k", "M", "G", "T", "P", "E"};
    std::size_t i = 0;
    double scaled = value / 1e3;
    while (std::abs(scaled) >= 999.9999999 && i + 1 < prefixes.size()) {
        scaled /= 1e3;
        ++i;
    }
    return fmt::format("{} {}", trimmed(scaled), prefixes[i]);
}

std::vector<Tick> log_ticks(const PlotAxis& axis, TickStyle style) {
    const int first = static_cast<int>(std::floor(std::log10(axis.low)));
    const int last = static_cast<int>(std::ceil(std::log10(axis.high)));
    const double decades = std::log10(axis.high) - std::log10(axis.low);
    const int step = 1 + static_cast<int>(decades) / kMaxLabels;
    std::vector<Tick> ticks;
    int labelled = 0;
    for (int e = first; e <= last; ++e) {
        for (int digit = 1; digit <= 9; ++digit) {
            const double value = digit * power_of_ten(e);
            if (!axis.holds(value) || (digit > 1 && step > 1)) continue;
            const bool narrow = decades < 2 && (digit == 2 || digit == 5);
            const bool major = narrow || (digit == 1 && e % step == 0);
            if (!major && step > kMaxMinorDecades) continue;
            ticks.push_back({value, major ? tick_label(value, style) : std::string{}});
            labelled += major ? 1 : 0;
        }
    }
    return labelled >= 2 ? ticks : linear_ticks(axis, style);
}

std::vector<Tick> binary_ticks(const PlotAxis& axis, TickStyle style) {
    const int first = static_cast<int>(std::ceil(std::log2(axis.low) - 1e-9));
    const int last = static_cast<int>(std::floor(std::log2(axis.high) + 1e-9));
    const int step = 1 + std::max(0, last - first) / (kMaxLabels + 2);
    std::vector<Tick> ticks;
    for (int e = first; e <= last; ++e) {
        const double value = std::ldexp(1.0, e);
        ticks.push_back({value, (e - first) % step == 0 ? tick_label(value, style) : std::string{}});
    }
    return ticks.size() >= 2 ? ticks : linear_ticks(axis, style);
}

std::vector<Tick> linear_ticks(const PlotAxis& axis, TickStyle style, int wanted) {
    const double span = axis.high - axis.low;
    const double raw = span / std::max(1, wanted);
    const double base = power_of_ten(static_cast<int>(std::floor(std::log10(raw))));
    const double multiple = raw / base;
    const double step = base * (multiple < 1.5 ? 1 : multiple < 3.5 ? 2 : multiple < 7.5 ? 5 : 10);
    std::vector<Tick> ticks;
    const double first = std::ceil(axis.low / step - 1e-9);
    for (double i = first; i <= first + 4 * wanted; ++i) {
        const double value = i * step;
        if (!axis.holds(value)) break;
        ticks.push_back({value, tick_label(value, style)});
    }
    return ticks;
}

}  // namespace roofline::core
