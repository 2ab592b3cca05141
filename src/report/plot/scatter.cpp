#include "report/plot/scatter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "base/portable_math.hpp"
#include "report/plot/plot_frame.hpp"

namespace roofline::core {

namespace {

constexpr double kCell = 2;  // points of one series within this many pixels are drawn as one mark
constexpr double kRadius = 2;
constexpr double kLegendRow = 16;

/// The drawable points, and axes that contain them.
struct Scene {
    std::vector<ScatterSeries> series;
    PlotAxis x;
    PlotAxis y;
};

PlotAxis axis(double low, double high, double from_px, double to_px) {
    low /= 1.3;
    high *= 1.3;
    widen_decades(low, high, 1);
    return {true, low, high, from_px, to_px};
}

Scene make_scene(const ScatterPlot& plot) {
    Scene scene;
    constexpr double none = std::numeric_limits<double>::infinity();
    XY low{none, none};
    XY high{0, 0};
    for (const ScatterSeries& series : plot.series) {
        ScatterSeries usable{series.label, {}};
        for (const auto& [x, y] : series.points) {
            if (!drawable(x) || !drawable(y)) continue;
            usable.points.emplace_back(x, y);
            low = {std::min(low.x, x), std::min(low.y, y)};
            high = {std::max(high.x, x), std::max(high.y, y)};
        }
        if (!usable.points.empty()) scene.series.push_back(std::move(usable));
    }
    if (scene.series.empty()) low = high = {1, 1};
    scene.x = axis(low.x, high.x, kFrameLeft, kFrameRight);
    scene.y = axis(low.y, high.y, kFrameBottom, kFrameTop);
    return scene;
}

/// Returns one point per occupied cell.
std::vector<XY> apart(const Scene& scene, const ScatterSeries& series) {
    std::vector<XY> kept;
    std::set<std::pair<long, long>> taken;
    for (const auto& [x, y] : series.points) {
        const XY at{scene.x.at(x), scene.y.at(y)};
        if (taken.emplace(std::lround(at.x / kCell), std::lround(at.y / kCell)).second) kept.push_back(at);
    }
    return kept;
}

/// Returns the median of y / x, which the picture is about.
double median_ratio(const ScatterSeries& series) {
    std::vector<double> ratios;
    for (const auto& [x, y] : series.points) ratios.push_back(y / x);
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::nth_element(ratios.begin(), middle, ratios.end());
    return *middle;
}

std::string describe(const Scene& scene, const ScatterPlot& plot) {
    std::string out = fmt::format("{} against {}.\n", plot.y_label, plot.x_label);
    for (const ScatterSeries& series : scene.series) {
        const auto [least, most] = std::minmax_element(series.points.begin(), series.points.end());
        out += fmt::format("{}: {} points, {} from {:.3g} to {:.3g}; half of them below {:.3g} of it\n", series.label,
                           series.points.size(), plot.x_label, least->first, most->first, median_ratio(series));
    }
    return out;
}

void draw_legend(SvgWriter& svg, const Scene& scene) {
    double y = kFrameTop + 16;
    for (std::size_t i = 0; i < scene.series.size(); ++i, y += kLegendRow) {
        svg.mark(fmt::format("mark f{}", kHues[i % kHues.size()]), kMarks[i % kMarks.size()], {kFrameLeft + 14, y}, 4);
        svg.text(fmt::format("label halo t{}", kHues[i % kHues.size()]), {kFrameLeft + 24, y}, Anchor::start,
                 shortened(scene.series[i].label, 40));
    }
}

/// Draws y = x within the frame, with its name above the upper end.
void draw_diagonal(SvgWriter& svg, const Scene& scene, const std::string& name) {
    const double low = std::max(scene.x.low, scene.y.low);
    const double high = std::min(scene.x.high, scene.y.high);
    if (low >= high) return;
    const XY from{scene.x.at(low), scene.y.at(low)};
    const XY to{scene.x.at(high), scene.y.at(high)};
    svg.line("ceiling", from, to);
    const double length = hypotenuse(to.x - from.x, to.y - from.y);
    const XY along{(to.x - from.x) / length, (to.y - from.y) / length};
    constexpr double above = 10;  // distance in pixels from the line to the middle of its name
    // Far enough from the end of the line that the corner of the name stays within the frame.
    const double back = text_width(name, kFontSize) / 2 + (above + kLabelHalfHeight) * along.x / -along.y + 4;
    if (2 * back > length) return;
    const XY at{to.x - back * along.x + above * along.y, to.y - back * along.y - above * along.x};
    svg.text("label halo", at, Anchor::middle, name, std::atan2(along.y, along.x) * 180 / std::acos(-1.0));
}

std::string draw(const Scene& scene, const ScatterPlot& plot) {
    SvgWriter svg;
    draw_axes(svg, scene.x, log_ticks(scene.x, TickStyle::plain), plot.x_label, scene.y,
              log_ticks(scene.y, TickStyle::plain), plot.y_label);
    for (std::size_t i = 0; i < scene.series.size(); ++i) {
        const std::string css = fmt::format("f{}", kHues[i % kHues.size()]);
        svg.open_group("datum", scene.series[i].label);
        for (const XY& at : apart(scene, scene.series[i])) svg.mark(css, kMarks[i % kMarks.size()], at, kRadius);
        svg.close_group();
    }
    draw_diagonal(svg, scene, plot.diagonal);
    draw_legend(svg, scene);
    return svg.str();
}

}  // namespace

std::string to_svg(const ScatterPlot& plot) {
    const Scene scene = make_scene(plot);
    return plot_document(plot.title, plot.subtitle, describe(scene, plot), draw(scene, plot));
}

}  // namespace roofline::core
