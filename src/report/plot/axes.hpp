// A plot axis: the mapping from values to pixels, and its ticks.
#pragma once

#include <string>
#include <vector>

namespace roofline::core {

/// Maps [low, high] to pixels, linearly or logarithmically (then 0 < low < high).
struct PlotAxis {
    bool log = false;
    double low = 0;
    double high = 1;
    double from_px = 0;
    double to_px = 1;

    [[nodiscard]] double at(double value) const;
    /// Whether the value is within the range, up to rounding.
    [[nodiscard]] bool holds(double value) const;
    /// Returns the number of pixels per decade of a logarithmic axis, never negative.
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

/// Widens [low, high] symmetrically to at least this many decades.
void widen_decades(double& low, double& high, double decades);

/// Returns labelled ticks at decades (at every second, third ... decade if there are many) and minor ticks at 2..9
/// between them. An axis of fewer than two decades also has labels at 2 and 5, or is labelled like a linear one.
[[nodiscard]] std::vector<Tick> log_ticks(const PlotAxis& axis, TickStyle style);

/// Returns ticks at powers of two (at every second, fourth ... power if there are many).
[[nodiscard]] std::vector<Tick> binary_ticks(const PlotAxis& axis, TickStyle style);

/// Returns about `wanted` ticks, all with labels, in steps of 1, 2 or 5 times a power of ten.
[[nodiscard]] std::vector<Tick> linear_ticks(const PlotAxis& axis, TickStyle style, int wanted = 6);

/// Returns "10 T", "0.1", "10,000", "1e20".
[[nodiscard]] std::string tick_label(double value, TickStyle style);

}  // namespace roofline::core
