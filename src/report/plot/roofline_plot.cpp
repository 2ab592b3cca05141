#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/portable_math.hpp"
#include "report/plot/plot.hpp"
#include "report/plot/plot_frame.hpp"
#include "report/plot/roofline_scene.hpp"
#include "report/plot/thin.hpp"
#include "units/text.hpp"

namespace roofline::core {
namespace {

constexpr std::size_t kMaxRidges = 24;          // maximum number of circles; <desc> lists further ridges
constexpr std::size_t kMaxLabelledPoints = 40;  // maximum number of points for which a label is tried
constexpr std::size_t kMaxDetailedPoints = 3;   // maximum number of points whose labels have details
constexpr std::size_t kMaxLeaders = 12;
constexpr std::size_t kMaxTooltips = 200;
constexpr double kPointRadius = 5.5;
constexpr double kStruckOutPixels = 60;  // a label through which a line runs over this many pixels counts as struck out
constexpr double kLabelMergeDistance = 7;  // points closer than this share a label
constexpr std::array<Mark, 4> kPointMarks{Mark::circle, Mark::diamond, Mark::square, Mark::triangle};
constexpr std::array<int, 3> kPathHues{5, 2, 3};  // palette indices; roofs use the others
constexpr std::array<int, 5> kRoofHues{0, 1, 4, 2, 3};

template <class T, std::size_t N>
const T& cycled(const std::array<T, N>& values, std::size_t i) {
    return values[i % N];
}

std::string numbers(const PlotPoint& p) {
    return fmt::format("{}, {}{}{}", to_text(Intensity{p.intensity}), to_text(FlopRate{p.flop_per_s}),
                       p.bound_by.empty() ? "" : ", bound by ", p.bound_by);
}

std::string tooltip(const PlotPoint& p) { return fmt::format("{}: {}", p.label, numbers(p)); }

/// The drawing in progress: shapes below, labels above, and the occupied space.
class RooflineDrawing {
public:
    explicit RooflineDrawing(const RooflineScene& scene)
        : scene_(scene), placer_({kFrameLeft + 2, kFrameTop + 2}, {kFrameRight - 2, kFrameBottom - 2}) {}

    std::string draw();

private:
    void roofs();
    void ceilings();
    void path_bands();
    void ridges();
    void path_marks();
    void path_labels();
    void points();
    void label_roof(std::size_t index);
    [[nodiscard]] bool crowded(std::size_t index) const;
    bool label_ceiling(std::size_t index);
    void label_ceiling_with_leader(std::size_t index);
    void path_name(std::size_t index, const std::vector<XY>& line);
    void point_labels();
    [[nodiscard]] std::string names_at(std::size_t index) const;
    [[nodiscard]] bool near_other_point(const LabelBox& box, XY own) const;
    void ridge_labels(bool first_roof);
    std::string with_ridge(const std::string& text, XY where);
    [[nodiscard]] bool near_other_ridge(const LabelBox& box, XY own) const;
    [[nodiscard]] XY corner(const Ridge& r) const { return at(r.intensity, scene_.ceilings[r.ceiling].flop_per_s); }
    void mark(std::string_view css, Mark shape, XY where, double radius);
    [[nodiscard]] std::vector<XY> pixels(const std::vector<PlotPoint>& points) const;
    [[nodiscard]] XY at(double intensity, double rate) const { return {scene_.x.at(intensity), scene_.y.at(rate)}; }
    [[nodiscard]] std::pair<XY, XY> roof_line(std::size_t index) const;
    [[nodiscard]] std::pair<XY, XY> ceiling_line(std::size_t index) const;

    const RooflineScene& scene_;
    SvgWriter svg_;
    SvgWriter labels_;
    LabelPlacer placer_;
    int leaders_ = 0;                     // number of ceilings with a leader so far
    std::set<std::size_t> named_ridges_;  // ridges whose intensity another label states
};

std::vector<XY> RooflineDrawing::pixels(const std::vector<PlotPoint>& points) const {
    std::vector<XY> out;
    out.reserve(points.size());
    for (const PlotPoint& p : points) out.push_back(at(p.intensity, p.flop_per_s));
    return out;
}

std::pair<XY, XY> RooflineDrawing::roof_line(std::size_t index) const {
    const double rate = scene_.roofs[index].bytes_per_s;
    const double from = std::max(scene_.x.low, scene_.y.low / rate);
    const double to = std::max(from, std::min(scene_.x.high, scene_.roof_top() / rate));
    return {at(from, from * rate), at(to, to * rate)};
}

std::pair<XY, XY> RooflineDrawing::ceiling_line(std::size_t index) const {
    const PlotCeiling& ceiling = scene_.ceilings[index];
    return {at(scene_.ceiling_start(ceiling), ceiling.flop_per_s), at(scene_.x.high, ceiling.flop_per_s)};
}

void RooflineDrawing::mark(std::string_view css, Mark shape, XY where, double radius) {
    svg_.mark(css, shape, where, radius);
    placer_.block({where, radius - 0.4, radius - 0.4, 0});
}

void RooflineDrawing::roofs() {
    for (std::size_t i = 0; i < scene_.roofs.size(); ++i) {
        const auto [from, to] = roof_line(i);
        const std::string_view low = scene_.roofs[i].low_confidence ? " low" : "";
        svg_.line(fmt::format("roof s{}{}", cycled(kRoofHues, i), low), from, to);
        placer_.avoid(from, to);
    }
}

void RooflineDrawing::ceilings() {
    for (std::size_t i = 0; i < scene_.ceilings.size(); ++i) {
        const PlotCeiling& ceiling = scene_.ceilings[i];
        const auto [from, to] = ceiling_line(i);
        svg_.line(fmt::format("ceiling{}{}", ceiling.vector ? " vector" : "", ceiling.low_confidence ? " low" : ""),
                  from, to);
        placer_.avoid(from, to);
    }
}

void RooflineDrawing::path_bands() {
    for (std::size_t i = 0; i < scene_.paths.size(); ++i) {
        const std::vector<XY> all = pixels(scene_.paths[i].points);
        std::vector<XY> line;
        for (const std::size_t k : simplified_line(all, kMaxVertices)) line.push_back(all[k]);
        if (line.size() > 1) svg_.polyline(fmt::format("path s{}", cycled(kPathHues, i)), line);
        for (std::size_t k = 1; k < line.size(); ++k) placer_.avoid(line[k - 1], line[k], 2);
    }
}

void RooflineDrawing::ridges() {
    for (std::size_t i = 0; i < std::min(scene_.ridges.size(), kMaxRidges); ++i) {
        const Ridge& ridge = scene_.ridges[i];
        const PlotCeiling& ceiling = scene_.ceilings[ridge.ceiling];
        mark("ridge", Mark::circle, corner(ridge), ceiling.vector ? 2.5 : 3.5);
    }
}

std::string ridge_text(const Ridge& ridge) {
    const double rounded = std::round(ridge.intensity);
    const bool large = rounded >= 1e4 && rounded < 1e15;
    return "ridge " + (large ? grouped(static_cast<std::int64_t>(rounded))
                             : number_text(ridge.intensity, rounded >= 1000 ? 4 : 3));
}

/// Whether the box is next to another ridge's circle, which a reader would take for the labelled one.
bool RooflineDrawing::near_other_ridge(const LabelBox& box, XY own) const {
    const LabelBox around{box.centre, box.half_width + 9, box.half_height + 7, 0};
    return std::any_of(scene_.ridges.begin(), scene_.ridges.end(), [&](const Ridge& r) {
        const XY other = corner(r);
        const bool same = std::abs(other.x - own.x) < 1 && std::abs(other.y - own.y) < 1;
        return !same && overlap(around, {other, 1, 1, 0});
    });
}

/// Labels ridges. Ridges of the first roof are the most important ones and may be labelled at a distance; vector ridges
/// of other roofs get no label.
void RooflineDrawing::ridge_labels(bool first_roof) {
    for (std::size_t i = 0; i < std::min(scene_.ridges.size(), kMaxRidges); ++i) {
        const Ridge& ridge = scene_.ridges[i];
        const bool vector = scene_.ceilings[ridge.ceiling].vector;
        if (named_ridges_.contains(i) || (ridge.roof == 0) != first_roof || (!first_roof && vector)) continue;
        const XY at = corner(ridge);
        PlotLabel label{"weak", ridge_text(ridge), "", at, 4};
        if (first_roof) add_positions_around(label);
        for (PlotLabel::Place& place : label.places) place.bias += 4;
        label.places.push_back({{at.x + 7, at.y + 12}, Anchor::start, 0});
        label.places.push_back({{at.x - 7, at.y - 11}, Anchor::end, 4});
        std::erase_if(label.places, [&](const PlotLabel::Place& place) {
            return !place.leader && near_other_ridge(label_box(label, place), at);
        });
        label.worst = 45;  // no label is better than one that a line strikes out
        draw_label(labels_, placer_, label);
    }
}

void RooflineDrawing::path_marks() {
    for (std::size_t k = 0; k < scene_.paths.size(); ++k) {
        const PlotPath& path = scene_.paths[k];
        const std::vector<XY> all = pixels(path.points);
        for (const std::size_t i : labelled_points(path, all, scene_.paths.size() == 1)) {
            const PlotPoint& p = path.points[i];
            svg_.open_group("datum", tooltip(p));
            mark(fmt::format("mark f{}", cycled(kPathHues, k)), cycled(kPointMarks, k), all[i], 4.2);
            svg_.close_group();
        }
    }
}

/// Returns "B=273", or "B=273, ridge 241" if the point lies on a ridge, which then needs no label of its own.
std::string RooflineDrawing::with_ridge(const std::string& text, XY where) {
    for (std::size_t i = 0; i < std::min(scene_.ridges.size(), kMaxRidges); ++i) {
        const Ridge& ridge = scene_.ridges[i];
        const XY circle = corner(ridge);
        if (scene_.ceilings[ridge.ceiling].vector || hypotenuse(circle.x - where.x, circle.y - where.y) > 4) continue;
        if (named_ridges_.insert(i).second) return text + ", " + ridge_text(ridge);
    }
    return text;
}

void RooflineDrawing::path_labels() {
    const bool alone = scene_.paths.size() == 1;
    for (std::size_t k = 0; k < scene_.paths.size(); ++k) {
        const PlotPath& path = scene_.paths[k];
        const std::vector<XY> all = pixels(path.points);
        bool name_lacking = alone;
        for (const std::size_t i : labelled_points(path, all, alone)) {
            // If there are several paths, the name is written at the end, where it is not ambiguous.
            const bool named = !alone && i + 1 == path.points.size();
            // All paths begin with the same size, so only the first one is labelled with it.
            if (!alone && k > 0 && i == 0 && !named) continue;
            const std::string text = named ? path.label + ": " + path.points[i].label : path.points[i].label;
            PlotLabel label{fmt::format("t{}", cycled(kPathHues, k)), with_ridge(text, all[i]), "", all[i], 4.2};
            add_positions_around(label);
            const bool placed = draw_label(labels_, placer_, label);
            name_lacking = name_lacking || (named && !placed);
        }
        if (name_lacking) path_name(k, all);
    }
}

/// Writes the name of a whole sweep next to its line if there is room.
void RooflineDrawing::path_name(std::size_t index, const std::vector<XY>& line) {
    PlotLabel label{fmt::format("t{}", cycled(kPathHues, index)), scene_.paths[index].label, ""};
    for (const double part : {0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9}) {
        const XY p = line[static_cast<std::size_t>(part * static_cast<double>(line.size() - 1))];
        for (const double away : {12.0, 26.0, 42.0}) {
            label.places.push_back({{p.x + away, p.y + away / 2 + 4}, Anchor::start, away / 4});
            label.places.push_back({{p.x - away, p.y - away / 2 - 4}, Anchor::end, away / 4 + 1});
        }
    }
    label.worst = kStruckOutPixels;
    if (draw_label(labels_, placer_, label)) return;
    label.worst = std::numeric_limits<double>::infinity();
    draw_label(labels_, placer_, label);
}

void RooflineDrawing::points() {
    for (std::size_t i = 1; i < std::min(scene_.points.size(), kMaxTooltips); ++i) {
        if (!scene_.points[i].beside) continue;
        const PlotPoint& before = scene_.points[i - 1];
        const XY from = at(before.intensity, before.flop_per_s);
        const XY to = at(scene_.points[i].intensity, scene_.points[i].flop_per_s);
        svg_.line("drop", from, to);
        placer_.avoid(from, to);
    }
    std::set<std::pair<long, long>> taken;  // cells of 3 pixels that already contain a mark
    for (std::size_t i = 0; i < scene_.points.size(); ++i) {
        const PlotPoint& p = scene_.points[i];
        const XY where = at(p.intensity, p.flop_per_s);
        const Mark shape = scene_.points.size() <= kPointMarks.size() ? kPointMarks[i] : Mark::circle;
        if (!taken.emplace(std::lround(where.x / 3), std::lround(where.y / 3)).second && i >= kMaxTooltips) continue;
        if (i < kMaxTooltips) {
            svg_.open_group("datum", tooltip(p));
            mark("mark point f5", shape, where, kPointRadius);
            svg_.close_group();
        } else {
            svg_.mark("mark point f5", shape, where, 3);
        }
    }
}

/// Whether a label in this box could be taken for that of another point.
bool RooflineDrawing::near_other_point(const LabelBox& box, XY own) const {
    const LabelBox around{box.centre, box.half_width + 12, box.half_height + 6, 0};
    const auto end =
        scene_.points.begin() + static_cast<std::ptrdiff_t>(std::min(scene_.points.size(), kMaxLabelledPoints));
    return std::any_of(scene_.points.begin(), end, [&](const PlotPoint& p) {
        const XY other = at(p.intensity, p.flop_per_s);
        return hypotenuse(other.x - own.x, other.y - own.y) >= kLabelMergeDistance && overlap(around, {other, 1, 1, 0});
    });
}

/// Returns the label of a point and of all points at the same position; "" if an earlier point has listed it.
std::string RooflineDrawing::names_at(std::size_t index) const {
    const double near = scene_.points.size() <= kMaxDetailedPoints ? kLabelMergeDistance : 1;
    const auto together = [&](std::size_t a, std::size_t b) {
        const XY p = at(scene_.points[a].intensity, scene_.points[a].flop_per_s);
        const XY q = at(scene_.points[b].intensity, scene_.points[b].flop_per_s);
        return hypotenuse(p.x - q.x, p.y - q.y) < near;
    };
    for (std::size_t i = 0; i < index; ++i) {
        if (together(i, index)) return "";
    }
    std::string names = scene_.points[index].label;
    for (std::size_t i = index + 1; i < std::min(scene_.points.size(), kMaxLabelledPoints); ++i) {
        if (together(i, index)) names += "; " + scene_.points[i].label;
    }
    return names;
}

void RooflineDrawing::point_labels() {
    // Among many points long leaders would cross, so a label without a position near its mark is omitted.
    const double farthest = scene_.points.size() > kMaxLeaders ? 0 : 70;
    const bool few = scene_.points.size() <= kMaxDetailedPoints;
    // Details at each of several points of one operation would fill the plot.
    const bool detailed =
        few && std::none_of(scene_.points.begin(), scene_.points.end(), [](const PlotPoint& p) { return p.beside; });
    std::vector<std::pair<std::size_t, std::string>> names;
    for (std::size_t i = 0; i < std::min(scene_.points.size(), kMaxLabelledPoints); ++i)
        names.emplace_back(i, names_at(i));
    // Long labels are placed first: they fit around short ones, but not vice versa.
    if (few) {
        std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
            return std::pair(a.second.size(), a.first) < std::pair(b.second.size(), b.first);
        });
    }
    for (const auto& [i, name] : names) {
        if (name.empty()) continue;
        const PlotPoint& p = scene_.points[i];
        PlotLabel label{"", name, "", at(p.intensity, p.flop_per_s), kPointRadius};
        if (detailed) {
            PlotLabel two_lines = label;
            two_lines.detail = numbers(p);
            add_positions_around(two_lines, farthest);
            if (draw_label(labels_, placer_, two_lines)) continue;
        }
        add_positions_around(label, farthest);
        for (PlotLabel::Place& place : label.places) {
            if (few && !place.leader && near_other_point(label_box(label, place), label.target)) place.bias += 30;
        }
        draw_label(labels_, placer_, label);
    }
}

/// Writes the label along the slope, above the line if there is room.
void RooflineDrawing::label_roof(std::size_t index) {
    const auto [from, to] = roof_line(index);
    const double length = hypotenuse(to.x - from.x, to.y - from.y);
    if (length < 1) return;
    const XY along{(to.x - from.x) / length, (to.y - from.y) / length};
    const double degrees = std::atan2(along.y, along.x) * 180 / std::numbers::pi;
    PlotLabel label{fmt::format("t{}", cycled(kRoofHues, index)), rate_label(scene_.roofs[index]), ""};
    for (int step = 0; step <= 40; ++step) {
        const int away = (step + 1) / 2;  // distance from the middle, alternating between both sides
        const double part = 0.5 + (step % 2 == 0 ? away : -away) / 42.0;
        for (const double side : {1.0, -1.0}) {
            const double off = side * (kLabelHalfHeight + 6);
            label.places.push_back(
                {{from.x + part * (to.x - from.x) + along.y * off, from.y + part * (to.y - from.y) - along.x * off},
                 Anchor::middle,
                 step * 0.5 + (side > 0 ? 0 : 6),
                 degrees});
        }
    }
    draw_label(labels_, placer_, label);
}

/// Writes the label on the line, starting at its right end, and above the line if there is room. Returns false if every
/// position touches another line.
bool RooflineDrawing::label_ceiling(std::size_t index) {
    const auto [from, to] = ceiling_line(index);
    PlotLabel label{"", rate_label(scene_.ceilings[index]), ""};
    for (double x = to.x - 4; x > from.x + text_width(label.text, kFontSize); x -= 12) {
        const double bias = (to.x - x) / 20;
        label.places.push_back({{x, to.y - kLabelHalfHeight - 3.6}, Anchor::end, bias});
        label.places.push_back({{x, to.y + kLabelHalfHeight + 3.6}, Anchor::end, bias + 30});
    }
    label.worst = kStruckOutPixels;
    return draw_label(labels_, placer_, label);
}

/// Whether another line is so close above that no label fits in between.
bool RooflineDrawing::crowded(std::size_t index) const {
    const double y = ceiling_line(index).first.y;
    return std::any_of(scene_.ceilings.begin(), scene_.ceilings.end(), [&](const PlotCeiling& other) {
        const double above = y - scene_.y.at(other.flop_per_s);
        return above > 0 && above < 2 * kLabelHalfHeight + 2;
    });
}

/// Labels a ceiling at a distance with a leader because its neighbours are too close for a label on the line.
void RooflineDrawing::label_ceiling_with_leader(std::size_t index) {
    const auto [from, to] = ceiling_line(index);
    PlotLabel label{"", rate_label(scene_.ceilings[index]), ""};
    // Leaders are side by side: a higher label has its leader further to the left.
    const double first = to.x - 12 - 8 * static_cast<double>(std::max(5 - leaders_++, 0));
    for (double x = first; x > from.x + text_width(label.text, kFontSize); x -= 12) {
        label.target = {x, to.y};
        label.places.clear();
        for (double away = 16; away <= 160; away += 8) {
            label.places.push_back({{x - 6, to.y + away}, Anchor::end, away / 2, 0, true});
            if (!crowded(index)) label.places.push_back({{x - 6, to.y - away}, Anchor::end, away / 2, 0, true});
        }
        // A position further to the left is better than one across a line.
        const bool more = x > from.x + 2 * text_width(label.text, kFontSize);
        label.worst = more ? kStruckOutPixels : std::numeric_limits<double>::infinity();
        if (draw_label(labels_, placer_, label)) return;
    }
}

std::string RooflineDrawing::draw() {
    draw_axes(svg_, scene_.x, log_ticks(scene_.x, TickStyle::plain), "arithmetic intensity, FLOP/byte", scene_.y,
              log_ticks(scene_.y, TickStyle::si), "attainable FLOP/s");
    roofs();
    ceilings();
    path_bands();
    ridges();
    path_marks();
    points();
    // All marks are placed first so that no label covers one. Then the most important labels are placed. The lower
    // ceilings, which are those of the vector units, leave room for the labels of the others.
    for (const bool vector : {false, true}) {
        std::vector<std::size_t> apart;
        for (std::size_t i = 0; i < scene_.ceilings.size(); ++i) {
            if (scene_.ceilings[i].vector == vector && (crowded(i) || !label_ceiling(i))) apart.push_back(i);
        }
        for (const std::size_t i : apart) label_ceiling_with_leader(i);
    }
    for (std::size_t i = 0; i < scene_.roofs.size(); ++i) label_roof(i);
    path_labels();
    // If there are few operations, their labels matter most; if there are many, ridges matter more.
    const bool few = scene_.points.size() <= kMaxDetailedPoints;
    if (few) point_labels();
    ridge_labels(true);
    if (!few) point_labels();
    ridge_labels(false);
    return svg_.str() + labels_.str();
}

}  // namespace

std::string to_svg(const RooflinePlot& plot) {
    const RooflineScene scene = make_scene(plot);
    const std::string title = plot.title.empty() ? "Roofline" : plot.title;
    return plot_document(title, plot.subtitle, describe(scene), RooflineDrawing(scene).draw());
}

}  // namespace roofline::core
