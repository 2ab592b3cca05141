// Plots as SVG. The caller says what is to be seen; nothing here knows where it came from.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace roofline::core {

/// One sloped roof: attainable = intensity * bandwidth.
struct PlotRoof {
    std::string label;  ///< "HBM"
    double bytes_per_s = 0;
    bool low_confidence = false;  ///< drawn dashed and said in the label
};

/// One flat ceiling.
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
    bool beside =
        false;  ///< the operation of the point before it, counted against another roof: joined to it by a line
};

/// A sweep: points joined in order, some of them labelled ("B=64").
struct PlotPath {
    std::string label;  ///< "B = 1..512"
    std::vector<PlotPoint> points;
};

/// A roofline plot: log-log, FLOP/s against FLOP/byte.
struct RooflinePlot {
    std::string title;
    std::string subtitle;  ///< machine and chips
    std::vector<PlotRoof> roofs;
    std::vector<PlotCeiling> ceilings;
    std::vector<PlotPoint> points;
    std::vector<PlotPath> paths;
};

/// One curve of a sweep plot.
struct PlotCurve {
    std::string label;                              ///< "D = F = 4096", or a machine's name
    std::vector<std::pair<double, double>> points;  ///< (size, FLOP/s)
    std::optional<double> peak;                     ///< the ceiling this curve runs into, FLOP/s
    std::optional<double> critical;  ///< size that is marked: at which it becomes compute-bound, or stops being it
    std::string critical_text;       ///< "from B = 137"
    std::string family{};            ///< what it shares its colour with: "H100 SXM5 80GB"
    std::string kind{};              ///< of the family: "bound", "expected", "measured"
};

/// Attainable FLOP/s against a swept dimension.
struct SweepPlot {
    std::string title;
    std::string subtitle;
    std::string x_label;  ///< "B"
    std::string y_label;  ///< "attainable FLOP/s"
    bool log_x = false;
    std::vector<PlotCurve> curves;
    std::string y_unit{};  ///< of values that are no FLOP/s, as it stands behind a number: "tokens/s"
};

/// A whole SVG document: fixed size in a viewBox, fonts by family with fall-backs, light and dark by media query,
/// colour-blind safe, legible in grey, with <title>/<desc> and a data table in <desc> for screen readers. Labels are
/// escaped. Values that are not finite or not positive are left out.
[[nodiscard]] std::string to_svg(const RooflinePlot& plot);
[[nodiscard]] std::string to_svg(const SweepPlot& plot);

}  // namespace roofline::core
