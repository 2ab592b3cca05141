// What the roofline plot and the sweep plot share: the canvas, its style sheet, its axes, labels beside marks.
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
/// Right of a frame without a second axis: half of a tick label must fit.
inline constexpr double kFrameRight = 698;
inline constexpr double kFontSize = 12;
/// Half the height of a line of label text, and of the box kept free around it.
inline constexpr double kLabelHalfHeight = 6.6;
/// The same for a label of two lines.
inline constexpr double kDetailedHalfHeight = 13;
/// Points that one line through data is drawn with, at most.
inline constexpr std::size_t kMostVertices = 400;
/// Data rows that <desc> tells of one series, at most.
inline constexpr std::size_t kMostRows = 100;

/// Of series in their order: places in the palette, and marks.
inline constexpr std::array<int, 8> kHues{0, 5, 1, 2, 3, 4, 6, 7};
inline constexpr std::array<Mark, 4> kMarks{Mark::circle, Mark::square, Mark::triangle, Mark::diamond};

/// Finite, positive, and within what a plot can sensibly show (1e-60 to 1e60).
[[nodiscard]] bool drawable(double value);

/// A label looking for a place: one or two lines of text and the places it may take.
struct PlotLabel {
    struct Place {
        XY at;  ///< where the anchor of the text's middle line goes
        Anchor anchor = Anchor::middle;
        double bias = 0;
        double degrees = 0;
        bool leader = false;  ///< joined to `target` by a thin line
    };
    std::string css_class;
    std::string text;
    std::string detail;  ///< a second line, in a weaker colour; "" for none
    XY target{};
    double target_radius = 0;  ///< of the mark there; a leader begins at its rim
    std::vector<Place> places{};
    double worst = std::numeric_limits<double>::infinity();  ///< rather no label than one at a higher cost
};

/// The space that the label takes at one of its places.
[[nodiscard]] LabelBox label_box(const PlotLabel& label, const PlotLabel::Place& place);

/// Draws the label at its best free place. False, and nothing drawn, when there is none.
bool draw_label(SvgWriter& svg, LabelPlacer& placer, const PlotLabel& label);

/// Gives the label the places around its target: right, left, above, below, the corners, then farther away, up to
/// `farthest` pixels, with a leader.
void surround(PlotLabel& label, double farthest = 70);

/// Grid lines, frame, tick labels and titles of the lower and left axes.
void draw_axes(SvgWriter& svg, const PlotAxis& x, const std::vector<Tick>& x_ticks, std::string_view x_title,
               const PlotAxis& y, const std::vector<Tick>& y_ticks, std::string_view y_title);

/// What a picture has of its own beside the common style.
struct PlotSheet {
    double height = kPlotHeight;
    std::string_view style{};  ///< rules of CSS, each under .rl-plot
};

/// The SVG document around `body`: title, description, style sheet, paper and heading.
[[nodiscard]] std::string plot_document(std::string_view title, std::string_view subtitle, std::string_view description,
                                        const std::string& body, const PlotSheet& sheet = {});

}  // namespace roofline::core
