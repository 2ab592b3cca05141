// Scatter plots of several series with a diagonal, as SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace roofline::core {

/// A series of points.
struct ScatterSeries {
    std::string label;                              ///< "all-reduce"
    std::vector<std::pair<double, double>> points;  ///< (x, y)
};

/// A log-log plot with the line y = x.
struct ScatterPlot {
    std::string title;
    std::string subtitle;
    std::string x_label;
    std::string y_label;
    std::string diagonal;  ///< name of the line: "predicted = measured"
    std::vector<ScatterSeries> series;
};

/// Returns a complete SVG document in the style of plot.hpp. Points of a series within two pixels of each other are
/// drawn once, so that their number is not limited. Points that are not finite and positive are omitted.
[[nodiscard]] std::string to_svg(const ScatterPlot& plot);

}  // namespace roofline::core
