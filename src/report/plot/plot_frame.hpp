// What roofline and sweep plots share: the canvas, the style sheet, axes, and labels next to marks.
#pragma once

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "report/plot/axes.hpp"
#include "report/plot/label.hpp"
#include "report/plot/svg.hpp"

namespace roofline::core {

inline constexpr double kPlotWidth = 720;
inline constexpr double kPlotHeight = 480;
inline constexpr double kFrameTop = 62;
inline constexpr double kFrameBottom = 424;
inline constexpr double kFrameLeft = 70;
/// The right edge of a frame without a second axis leaves room for half a tick label.
inline constexpr double kFrameRight = 698;
inline constexpr double kFontSize = 12;
/// Half the height of a line of label text and of the box that is kept free around it.
inline constexpr double kLabelHalfHeight = 6.6;
/// Half the height of the box of a label with two lines.
inline constexpr double kDetailedHalfHeight = 13;
/// Maximum number of vertices of one line through data.
inline constexpr std::size_t kMaxVertices = 400;
/// Maximum number of data rows of one series in <desc>.
inline constexpr std::size_t kMaxRows = 100;

/// Palette indices and marks of series in their order.
inline constexpr std::array<int, 8> kHues{0, 5, 1, 2, 3, 4, 6, 7};
inline constexpr std::array<Mark, 4> kMarks{Mark::circle, Mark::square, Mark::triangle, Mark::diamond};

/// Whether a value is finite, positive, and within the range that a plot can reasonably show (1e-60 to 1e60).
[[nodiscard]] bool drawable(double value);

/// A label of one or two lines with its candidate positions.
struct PlotLabel {
    struct Place {
        XY at;  ///< position of the anchor of the text's middle line
        Anchor anchor = Anchor::middle;
        double bias = 0;
        double degrees = 0;
        bool leader = false;  ///< a thin line joins the label to `target`
    };
    std::string css_class;
    std::string text;
    std::string detail;  ///< a second line, in a weaker colour; "" for none
    XY target{};
    double target_radius = 0;  ///< radius of the mark at `target`; a leader begins at its rim
    std::vector<Place> places{};
    /// Maximum cost; the label is omitted rather than placed at a higher one.
    double worst = std::numeric_limits<double>::infinity();
};

/// Returns the box that the label occupies at a position.
[[nodiscard]] LabelBox label_box(const PlotLabel& label, const PlotLabel::Place& place);

/// Draws the label at its best free position. Returns false and draws nothing if there is none.
bool draw_label(SvgWriter& svg, LabelPlacer& placer, const PlotLabel& label);

/// Adds candidate positions around the target: right, left, above, below, the corners, then positions at up to
/// `farthest` pixels with a leader.
void add_positions_around(PlotLabel& label, double farthest = 70);

/// Draws grid lines, frame, tick labels and titles of the lower and left axes.
void draw_axes(SvgWriter& svg, const PlotAxis& x, const std::vector<Tick>& x_ticks, std::string_view x_title,
               const PlotAxis& y, const std::vector<Tick>& y_ticks, std::string_view y_title);

/// What one kind of picture adds to the common style.
struct PlotSheet {
    double height = kPlotHeight;
    std::string_view style{};  ///< CSS rules, each scoped to .rl-plot
};

/// Returns the SVG document around `body`: title, description, style sheet, background and heading.
[[nodiscard]] std::string plot_document(std::string_view title, std::string_view subtitle, std::string_view description,
                                        const std::string& body, const PlotSheet& sheet = {});

}  // namespace roofline::core
