// Bars that are cut into shares, one below the other: where parameters or FLOPs go.
#pragma once

#include <string>
#include <vector>

namespace roofline::core {

/// One piece of a bar.
struct SharesPiece {
    std::string label;  ///< pieces of the same label have the same colour in every bar
    double amount = 0;
    std::string text;  ///< the amount, for the reader
};

/// A bar: its pieces together are the whole width.
struct SharesBar {
    std::string label;
    std::string total;  ///< of its pieces, for the reader
    std::vector<SharesPiece> pieces;
};

struct SharesPlot {
    std::string title;
    std::string subtitle;
    std::vector<SharesBar> bars;
};

/// A whole SVG document, with a table of the shares in <desc>. Pieces that are not finite or not positive are left out.
[[nodiscard]] std::string to_svg(const SharesPlot& plot);

}  // namespace roofline::core
