#include "report/plot/roofline_scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "base/portable_math.hpp"
#include "report/plot/plot_frame.hpp"
#include "report/plot/thin.hpp"
#include "units/text.hpp"

namespace roofline::core {
namespace {

constexpr double kRateTolerance = 1e-3;  // relative difference; closer lines cannot be told apart

bool equal_rates(double a, double b) { return std::abs(a - b) <= kRateTolerance * std::max(a, b); }

/// Joins "bf16 matmul" and "f16 matmul" to "bf16, f16 matmul"; labels with different last words are listed in full.
std::string joined(const std::string& sofar, const std::string& label) {
    const auto split = [](const std::string& text) {
        const std::size_t space = text.rfind(' ');
        return space == std::string::npos ? std::pair{text, std::string{}}
                                          : std::pair{text.substr(0, space), text.substr(space)};
    };
    const auto [head, last] = split(sofar);
    const auto [new_head, new_last] = split(label);
    if (sofar == label) return sofar;
    if (!last.empty() && last == new_last) return head + ", " + new_head + last;
    return sofar + ", " + label;
}

std::vector<PlotRoof> usable_roofs(const std::vector<PlotRoof>& roofs) {
    std::vector<PlotRoof> out;
    for (const PlotRoof& roof : roofs) {
        if (!drawable(roof.bytes_per_s)) continue;
        const auto same = std::find_if(out.begin(), out.end(), [&](const PlotRoof& r) {
            return r.low_confidence == roof.low_confidence && equal_rates(r.bytes_per_s, roof.bytes_per_s);
        });
        if (same == out.end())
            out.push_back(roof);
        else
            same->label = joined(same->label, roof.label);
    }
    return out;
}

std::vector<PlotCeiling> usable_ceilings(const std::vector<PlotCeiling>& ceilings) {
    std::vector<PlotCeiling> out;
    for (const PlotCeiling& ceiling : ceilings) {
        if (!drawable(ceiling.flop_per_s)) continue;
        const auto same = std::find_if(out.begin(), out.end(), [&](const PlotCeiling& c) {
            return c.low_confidence == ceiling.low_confidence && equal_rates(c.flop_per_s, ceiling.flop_per_s);
        });
        if (same == out.end()) {
            out.push_back(ceiling);
        } else {
            same->label = joined(same->label, ceiling.label);
            same->vector = same->vector && ceiling.vector;
        }
    }
    return out;
}

std::vector<PlotPoint> usable_points(const std::vector<PlotPoint>& points) {
    std::vector<PlotPoint> out;
    std::copy_if(points.begin(), points.end(), std::back_inserter(out),
                 [](const PlotPoint& p) { return drawable(p.intensity) && drawable(p.flop_per_s); });
    return out;
}

std::vector<Ridge> find_ridges(const RooflineScene& scene) {
    std::vector<Ridge> ridges;
    for (const bool vector : {false, true}) {
        for (std::size_t r = 0; r < scene.roofs.size(); ++r) {
            for (std::size_t c = 0; c < scene.ceilings.size(); ++c) {
                if (scene.ceilings[c].vector != vector) continue;
                const double intensity = scene.ceilings[c].flop_per_s / scene.roofs[r].bytes_per_s;
                if (drawable(intensity)) ridges.push_back({r, c, intensity});
            }
        }
    }
    return ridges;
}

struct Range {
    double low = std::numeric_limits<double>::infinity();
    double high = 0;

    void take(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
    [[nodiscard]] bool empty() const { return high == 0; }
};

template <class F>
void each_point(const RooflineScene& scene, F take) {
    for (const PlotPoint& p : scene.points) take(p);
    for (const PlotPath& path : scene.paths) {
        for (const PlotPoint& p : path.points) take(p);
    }
}

PlotAxis intensity_axis(const RooflineScene& scene) {
    Range data;  // points, and ridges of the first roof
    each_point(scene, [&](const PlotPoint& p) { data.take(p.intensity); });
    Range range = data;
    for (const Ridge& ridge : scene.ridges) {
        range.take(ridge.intensity);
        if (ridge.roof == 0) data.take(ridge.intensity);
    }
    if (range.empty()) range = {1, 100};
    range.low /= 3;
    range.high *= 4;
    // Reserves room for the labels of ceilings to the right of all data. These labels may cross the roofs of slower
    // tiers.
    double widest = 0;
    for (const PlotCeiling& c : scene.ceilings) widest = std::max(widest, text_width(rate_label(c), kFontSize));
    const double share = std::min(0.3, (widest + 12) / (kFrameRight - kFrameLeft));
    data.high = std::max(data.high * 1.5, range.low * 10);
    range.high = std::max(range.high, data.high * std::pow(data.high / range.low, share / (1 - share)));
    widen_decades(range.low, range.high, 3);
    return {true, range.low, range.high, kFrameLeft, kFrameRight};
}

PlotAxis rate_axis(const RooflineScene& scene) {
    Range data;
    each_point(scene, [&](const PlotPoint& p) { data.take(p.flop_per_s); });
    for (const PlotCeiling& c : scene.ceilings) data.take(c.flop_per_s);
    Range roofs;  // where the roofs enter and leave the plot, unless that is far below everything else
    for (const PlotRoof& r : scene.roofs) {
        roofs.take(r.bytes_per_s * scene.x.low * 2);
        if (scene.ceilings.empty()) data.take(r.bytes_per_s * scene.x.high);
    }
    if (data.empty()) data = {1e9, 1e12};
    const double slowest = roofs.empty() ? data.low : std::max(roofs.low, data.high / 1e6);
    Range range{std::min(data.low / 3, slowest), data.high * 2.2};
    widen_decades(range.low, range.high, 2);
    return {true, range.low, range.high, kFrameBottom, kFrameTop};
}

std::string point_row(const PlotPoint& p) {
    std::string row =
        fmt::format("{} | {} | {}", p.label, to_text(Intensity{p.intensity}), to_text(FlopRate{p.flop_per_s}));
    return p.bound_by.empty() ? row : row + " | " + p.bound_by;
}

void add_rows(std::string& out, const std::vector<PlotPoint>& points) {
    std::vector<XY> at;
    for (const PlotPoint& p : points) at.push_back({std::log10(p.intensity) * 100, std::log10(p.flop_per_s) * 100});
    const std::vector<std::size_t> shown = simplified_line(at, kMaxRows);
    // If there are few points, all are listed, however straight their line.
    const bool all = points.size() <= kMaxRows;
    if (!all) out += fmt::format("({} of {} points)\n", shown.size(), points.size());
    if (all) {
        for (const PlotPoint& p : points) out += point_row(p) + "\n";
    } else {
        for (const std::size_t i : shown) out += point_row(points[i]) + "\n";
    }
}

/// Returns how round the number at the end of a label is: its number of factors of two, or of factors of ten, each of
/// which counts three.
int roundness(const std::string& label) {
    const std::size_t digits = label.find_last_not_of("0123456789");
    const std::string tail = digits == std::string::npos ? label : label.substr(digits + 1);
    if (tail.empty() || tail.size() > 18) return 0;
    long long number = 0;
    for (const char c : tail) number = number * 10 + (c - '0');
    if (number == 0) return 0;
    int twos = 0;
    int tens = 0;
    for (long long n = number; n % 2 == 0; n /= 2) ++twos;
    for (long long n = number; n % 10 == 0; n /= 10) ++tens;
    return std::max(twos, 3 * tens);
}

}  // namespace

double RooflineScene::roof_top() const {
    double matmul = 0;
    double any = 0;
    for (const PlotCeiling& c : ceilings) {
        any = std::max(any, c.flop_per_s);
        if (!c.vector) matmul = std::max(matmul, c.flop_per_s);
    }
    return matmul > 0 ? matmul : any > 0 ? any : y.high;
}

double RooflineScene::ceiling_start(const PlotCeiling& ceiling) const {
    double fastest = 0;
    for (const PlotRoof& r : roofs) fastest = std::max(fastest, r.bytes_per_s);
    return fastest > 0 ? std::max(x.low, ceiling.flop_per_s / fastest) : x.low;
}

RooflineScene make_scene(const RooflinePlot& plot) {
    RooflineScene scene;
    scene.roofs = usable_roofs(plot.roofs);
    scene.ceilings = usable_ceilings(plot.ceilings);
    scene.points = usable_points(plot.points);
    for (const PlotPath& path : plot.paths) {
        PlotPath usable{path.label, usable_points(path.points)};
        if (!usable.points.empty()) scene.paths.push_back(std::move(usable));
    }
    scene.ridges = find_ridges(scene);
    scene.x = intensity_axis(scene);
    scene.y = rate_axis(scene);
    return scene;
}

std::string rate_label(const PlotRoof& roof) {
    return fmt::format("{} {}{}", roof.label, to_text(Bandwidth{roof.bytes_per_s}),
                       roof.low_confidence ? " (low confidence)" : "");
}

std::string rate_label(const PlotCeiling& ceiling) {
    return fmt::format("{} {}{}", ceiling.label, to_text(FlopRate{ceiling.flop_per_s}),
                       ceiling.low_confidence ? " (low confidence)" : "");
}

std::string describe(const RooflineScene& scene) {
    std::string out = "Attainable FLOP/s against arithmetic intensity in FLOP/byte, both axes logarithmic.\n";
    if (!scene.roofs.empty()) out += "Bandwidths:\n";
    for (const PlotRoof& r : scene.roofs) out += rate_label(r) + "\n";
    if (!scene.ceilings.empty()) out += "Ceilings:\n";
    for (const PlotCeiling& c : scene.ceilings) out += rate_label(c) + "\n";
    if (!scene.ridges.empty()) out += "Ridge points:\n";
    for (std::size_t i = 0; i < std::min(scene.ridges.size(), kMaxRows); ++i) {
        const Ridge& ridge = scene.ridges[i];
        out += fmt::format("{} | {} | {}\n", scene.roofs[ridge.roof].label, scene.ceilings[ridge.ceiling].label,
                           to_text(Intensity{ridge.intensity}));
    }
    if (!scene.points.empty()) out += "Operations (name | intensity | FLOP/s | bound by):\n";
    add_rows(out, scene.points);
    for (const PlotPath& path : scene.paths) {
        out += fmt::format("Sweep {} (size | intensity | FLOP/s | bound by):\n", path.label);
        add_rows(out, path.points);
    }
    return out;
}

std::vector<std::size_t> labelled_points(const PlotPath& path, const std::vector<XY>& at, bool between) {
    const std::size_t count = path.points.size();
    std::vector<double> along(count, 0);  // length of the path up to each point in pixels
    for (std::size_t i = 1; i < count; ++i)
        along[i] = along[i - 1] + hypotenuse(at[i].x - at[i - 1].x, at[i].y - at[i - 1].y);
    std::vector<std::size_t> chosen{0};
    if (count > 1) chosen.push_back(count - 1);
    for (std::size_t i = 1; i + 1 < count && chosen.size() < 6; ++i) {
        if (path.points[i].bound_by != path.points[i - 1].bound_by) chosen.push_back(i);
    }
    if (!between) return chosen;
    const double spacing = std::max(64.0, along.back() / 9);
    for (double target = spacing; target < along.back(); target += spacing) {
        std::size_t best = count;
        const auto first = std::lower_bound(along.begin(), along.end(), target - spacing * 0.5);
        for (auto it = first; it != along.end() && *it < target + spacing * 0.5; ++it) {
            const auto i = static_cast<std::size_t>(it - along.begin());
            const bool crowded = std::any_of(chosen.begin(), chosen.end(), [&](std::size_t c) {
                return hypotenuse(at[c].x - at[i].x, at[c].y - at[i].y) < spacing * 0.65;
            });
            if (crowded) continue;
            if (best == count || roundness(path.points[i].label) > roundness(path.points[best].label)) best = i;
        }
        if (best != count) chosen.push_back(best);
    }
    return chosen;
}

}  // namespace roofline::core
