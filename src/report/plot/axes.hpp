// A plot axis: from a value to a pixel, and where the ticks go.
#pragma once

#include <string>
#include <vector>

namespace roofline::core {

/// Maps [low, high] to pixels, linearly or by logarithm (then 0 < low < high).
struct PlotAxis {
    bool log = false;
    double low = 0;
    double high = 1;
    double from_px = 0;
    double to_px = 1;

    [[nodiscard]] double at(double value) const;
    /// Within the range, a hair of rounding allowed.
    [[nodiscard]] bool holds(double value) const;
    /// Pixels a decade of a logarithmic axis takes, never negative.
    [[nodiscard]] double decade_px() const;
};

struct Tick {
    double value = 0;
    std::string label;  ///< "" for a minor tick
};

enum class TickStyle {
    plain,  ///< 0.1, 1, 10, 10,000, then 1 M
    si,     ///< 500 G, 1 T, 10 T
};

/// Widens [low, high] evenly to at least so many decades.
void widen_decades(double& low, double& high, double decades);

/// Decades labelled (every second, third ... where there are many), 2..9 between them as minor ticks. An axis that
/// holds fewer than two decades is labelled at 2 and 5 as well, or like a linear one.
[[nodiscard]] std::vector<Tick> log_ticks(const PlotAxis& axis, TickStyle style);

/// Powers of two, every second, fourth ... where there are many.
[[nodiscard]] std::vector<Tick> binary_ticks(const PlotAxis& axis, TickStyle style);

/// Steps of 1, 2 or 5 times a power of ten, about `wanted` of them, all labelled.
[[nodiscard]] std::vector<Tick> linear_ticks(const PlotAxis& axis, TickStyle style, int wanted = 6);

/// "10 T", "0.1", "10,000", "1e20".
[[nodiscard]] std::string tick_label(double value, TickStyle style);

}  // namespace roofline::core
