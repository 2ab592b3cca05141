// Plots as SVG. This folder knows only what is drawn, not where it comes from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace roofline::core {

/// A sloped roof: attainable FLOP/s = intensity * bandwidth.
struct PlotRoof {
    std::string label;  ///< "HBM"
    double bytes_per_s = 0;
    bool low_confidence = false;  ///< drawn dashed and marked in the label
};

/// A flat ceiling.
struct PlotCeiling {
    std::string label;  ///< "bf16 matmul"
    double flop_per_s = 0;
    bool vector = false;
    bool low_confidence = false;
};

/// An operation on the plot.
struct PlotPoint {
    std::string label;
    double intensity = 0;   ///< FLOP/byte
    double flop_per_s = 0;  ///< attainable at the lower bound
    std::string bound_by;   ///< "HBM", "bf16 matmul"
    /// The same operation as the point before it, counted against another roof; a line joins the two points.
    bool beside = false;
};

/// A sweep: points joined in order, some of them with labels ("B=64").
struct PlotPath {
    std::string label;  ///< "B = 1..512"
    std::vector<PlotPoint> points;
};

/// A roofline plot: log-log, FLOP/s over FLOP/byte.
struct RooflinePlot {
    std::string title;
    std::string subtitle;  ///< machine and chips
    std::vector<PlotRoof> roofs;
    std::vector<PlotCeiling> ceilings;
    std::vector<PlotPoint> points;
    std::vector<PlotPath> paths;
};

/// How the points of a curve are joined.
enum class PlotLine : std::uint8_t {
    straight,
    steps,  ///< level, then vertical, without marks at points: nothing lies between them
    none,   ///< only marks
};

/// A curve of a sweep plot.
struct PlotCurve {
    std::string label;                              ///< "D = F = 4096", or a machine's name
    std::vector<std::pair<double, double>> points;  ///< (size, FLOP/s)
    std::optional<double> peak;                     ///< the ceiling that the curve approaches, FLOP/s
    std::optional<double> critical;  ///< size that is marked: the curve becomes, or stops being, compute-bound there
    std::string critical_text;       ///< "from B = 137"
    std::string family{};            ///< curves of one family share a colour: "H100 SXM5 80GB"
    std::string kind{};              ///< kind of curve within the family: "bound", "expected", "measured"
    PlotLine line = PlotLine::straight;
};

/// A plot of attainable FLOP/s over a swept dimension.
struct SweepPlot {
    std::string title;
    std::string subtitle;
    std::string x_label;  ///< "B"
    std::string y_label;  ///< "attainable FLOP/s"
    bool log_x = false;
    std::vector<PlotCurve> curves;
    std::string y_unit{};  ///< unit printed after a number, if it is not FLOP/s: "tokens/s"
};

/// Returns a complete SVG document. It has a fixed size in a viewBox, font families with fall-backs, light and dark
/// themes by media query, colours that are safe for colour-blind readers and distinguishable in greyscale, and a
/// <title> and a <desc> with a data table for screen readers. Labels are escaped. Values that are not finite and
/// positive are omitted.
[[nodiscard]] std::string to_svg(const RooflinePlot& plot);
[[nodiscard]] std::string to_svg(const SweepPlot& plot);

}  // namespace roofline::core
