// Points of several kinds against a diagonal, as SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace roofline::core {

/// Points of one kind.
struct ScatterSeries {
    std::string label;                              ///< "all-reduce"
    std::vector<std::pair<double, double>> points;  ///< (x, y)
};

/// Log-log, with the line y = x.
struct ScatterPlot {
    std::string title;
    std::string subtitle;
    std::string x_label;
    std::string y_label;
    std::string diagonal;  ///< what the line is: "predicted = measured"
    std::vector<ScatterSeries> series;
};

/// A whole SVG document, as those of plot.hpp. Points that would cover one another to within two pixels are drawn once,
/// so any number of them may be given; what is not finite or not positive is left out.
[[nodiscard]] std::string to_svg(const ScatterPlot& plot);

}  // namespace roofline::core
