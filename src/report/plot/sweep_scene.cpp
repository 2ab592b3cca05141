#include "report/plot/sweep_scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "report/plot/plot_frame.hpp"
#include "report/plot/thin.hpp"
#include "units/text.hpp"

namespace roofline::core {
namespace {

constexpr double kFractionsRight = kPlotWidth - 62;  // right edge of a frame with a second axis beside it

std::vector<PlotCurve> usable_curves(const std::vector<PlotCurve>& curves) {
    std::vector<PlotCurve> out;
    for (const PlotCurve& curve : curves) {
        PlotCurve usable = curve;
        usable.points.clear();
        for (const auto& [size, rate] : curve.points) {
            if (drawable(size) && drawable(rate)) usable.points.emplace_back(size, rate);
        }
        if (usable.peak && !drawable(*usable.peak)) usable.peak.reset();
        if (usable.critical && !drawable(*usable.critical)) usable.critical.reset();
        if (!usable.points.empty()) out.push_back(std::move(usable));
    }
    return out;
}

std::optional<double> shared_peak(const std::vector<PlotCurve>& curves) {
    if (curves.empty() || !curves.front().peak) return std::nullopt;
    const double peak = *curves.front().peak;
    const bool shared = std::all_of(curves.begin(), curves.end(), [&](const PlotCurve& c) {
        return c.peak && std::abs(*c.peak - peak) <= 1e-9 * peak;
    });
    return shared ? std::optional(peak) : std::nullopt;
}

bool is_power_of_two(double value) {
    int exponent = 0;
    return std::frexp(value, &exponent) == 0.5;
}

PlotAxis size_axis(const SweepScene& scene, bool log) {
    double low = std::numeric_limits<double>::infinity();
    double high = 0;
    for (const PlotCurve& c : scene.curves) {
        for (const auto& point : c.points) {
            low = std::min(low, point.first);
            high = std::max(high, point.first);
        }
    }
    if (high == 0) low = high = 1;
    const double right = scene.peak ? kFractionsRight : kFrameRight;
    if (log) {
        low /= 1.15;
        high *= 1.15;
        widen_decades(low, high, 0.5);
        return {true, low, high, kFrameLeft, right};
    }
    if (low < high / 4 || low == high) low = 0;
    const double room = (high - low) * 0.03;
    return {false, low == 0 ? 0 : low - room, high + room, kFrameLeft, right};
}

PlotAxis rate_axis(const SweepScene& scene) {
    double high = 0;
    for (const PlotCurve& c : scene.curves) {
        high = std::max(high, c.peak.value_or(0));
        for (const auto& point : c.points) high = std::max(high, point.second);
    }
    return {false, 0, high > 0 ? high * 1.12 : 1e12, kFrameBottom, kFrameTop};
}

}  // namespace

SweepScene make_scene(const SweepPlot& plot) {
    SweepScene scene;
    scene.curves = usable_curves(plot.curves);
    scene.peak = shared_peak(scene.curves);
    scene.powers_of_two = !scene.curves.empty();
    for (const PlotCurve& c : scene.curves) {
        for (const auto& point : c.points) scene.powers_of_two = scene.powers_of_two && is_power_of_two(point.first);
    }
    for (const PlotCurve& c : scene.curves) {
        if (std::find(scene.families.begin(), scene.families.end(), c.family) == scene.families.end()) {
            scene.families.push_back(c.family);
        }
    }
    scene.x = size_axis(scene, plot.log_x);
    scene.y = rate_axis(scene);
    return scene;
}

bool corner_after(const PlotCurve& curve, std::size_t i) {
    if (!curve.critical || !curve.peak || i + 1 >= curve.points.size()) return false;
    const auto& [x0, y0] = curve.points[i];
    const auto& [x1, y1] = curve.points[i + 1];
    return x0 < *curve.critical && *curve.critical < x1 && y0 < *curve.peak && y1 >= *curve.peak * (1 - 1e-6);
}

std::string size_text(double size) {
    const bool whole = size < 1e15 && size == std::floor(size);
    return whole && size >= 1e4 ? grouped(static_cast<std::int64_t>(size)) : number_text(size, size < 1000 ? 3 : 15);
}

std::string rate_text(const SweepPlot& plot, double rate) {
    return plot.y_unit.empty() ? to_text(FlopRate{rate}) : number_text(rate, 3) + " " + plot.y_unit;
}

std::string describe(const SweepScene& scene, const SweepPlot& plot) {
    std::string out = fmt::format("{} against {}.\n", plot.y_label, plot.x_label);
    for (const PlotCurve& curve : scene.curves) {
        out += curve.label;
        if (curve.peak) out += fmt::format("; peak {}", rate_text(plot, *curve.peak));
        if (curve.critical) {
            out += fmt::format("; {}{}", plot.y_unit.empty() ? "compute-bound " : "", curve.critical_text);
        }
        out += "\n";
        std::vector<XY> at;
        for (const auto& [size, rate] : curve.points) at.push_back({scene.x.at(size), scene.y.at(rate)});
        std::vector<std::size_t> rows = simplified_line(at, kMaxRows);
        if (curve.points.size() <= kMaxRows) {
            rows.resize(curve.points.size());
            for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
        } else {
            out += fmt::format("({} of {} points)\n", rows.size(), curve.points.size());
        }
        for (const std::size_t i : rows) {
            out += fmt::format("{} | {}\n", size_text(curve.points[i].first), rate_text(plot, curve.points[i].second));
        }
    }
    return out;
}

}  // namespace roofline::core
