// A sweep plot prepared for drawing: values that cannot be drawn are removed, and axes chosen.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/plot/axes.hpp"
#include "report/plot/plot.hpp"

namespace roofline::core {

struct SweepScene {
    std::vector<PlotCurve> curves;  ///< without empty curves and points that cannot be drawn
    std::vector<std::string> families;
    std::optional<double> peak;  ///< FLOP/s, if all curves share it
    bool powers_of_two = false;  ///< all sizes are powers of two
    PlotAxis x;                  ///< the swept size
    PlotAxis y;                  ///< FLOP/s
};

[[nodiscard]] SweepScene make_scene(const SweepPlot& plot);

/// Whether a coarsely sampled curve reaches its peak between point `i` and the next, at its critical size, where it has
/// a corner that no sample shows.
[[nodiscard]] bool corner_after(const PlotCurve& curve, std::size_t i);

/// Returns a size for labels: "64", "10,000".
[[nodiscard]] std::string size_text(double size);

/// Returns a value of the y axis with its unit.
[[nodiscard]] std::string rate_text(const SweepPlot& plot, double rate);

/// Returns the numbers of the plot as text for screen readers.
[[nodiscard]] std::string describe(const SweepScene& scene, const SweepPlot& plot);

}  // namespace roofline::core
