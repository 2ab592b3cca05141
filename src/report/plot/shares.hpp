// Stacked bars that show where parameters or FLOPs go.
#pragma once

#include <string>
#include <vector>

namespace roofline::core {

/// A segment of a bar.
struct SharesSegment {
    std::string label;  ///< segments with the same label have the same colour in all bars
    double amount = 0;
    std::string text;  ///< the amount, for people
};

/// A bar; its segments fill the whole width.
struct SharesBar {
    std::string label;
    std::string total;  ///< total of its segments, for people
    std::vector<SharesSegment> pieces;
};

struct SharesPlot {
    std::string title;
    std::string subtitle;
    std::vector<SharesBar> bars;
};

/// Returns a complete SVG document with a table of the shares in <desc>. Segments that are not finite and positive are
/// omitted.
[[nodiscard]] std::string to_svg(const SharesPlot& plot);

}  // namespace roofline::core
