// A sweep plot made ready for drawing: what cannot be drawn left out, axes chosen.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/plot/axes.hpp"
#include "report/plot/plot.hpp"

namespace roofline::core {

struct SweepScene {
    std::vector<PlotCurve> curves;  ///< drawable points only, never empty ones
    std::vector<std::string> families;
    std::optional<double> peak;  ///< FLOP/s, when all curves share it
    bool powers_of_two = false;  ///< all sizes are
    PlotAxis x;                  ///< the swept size
    PlotAxis y;                  ///< FLOP/s
};

[[nodiscard]] SweepScene make_scene(const SweepPlot& plot);

/// Whether a curve that is sampled coarsely reaches its peak between point `i` and the next, at its critical size:
/// there it has a corner that no sample shows.
[[nodiscard]] bool corner_after(const PlotCurve& curve, std::size_t i);

/// A size as it stands in labels: 64, 10,000.
[[nodiscard]] std::string size_text(double size);

/// A value of the y axis with its unit.
[[nodiscard]] std::string rate_text(const SweepPlot& plot, double rate);

/// The numbers of the plot as a table in words, for those who do not see it.
[[nodiscard]] std::string describe(const SweepScene& scene, const SweepPlot& plot);

}  // namespace roofline::core
