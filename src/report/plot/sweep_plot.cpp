#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/portable_math.hpp"
#include "report/plot/plot.hpp"
#include "report/plot/plot_frame.hpp"
#include "report/plot/sweep_scene.hpp"
#include "report/plot/thin.hpp"
#include "units/text.hpp"

namespace roofline::core {
namespace {

constexpr std::size_t kMaxMarks = 40;           // a curve with at most this many points shows a mark at each
constexpr std::size_t kMaxLabelledCurves = 24;  // maximum number of labelled curves; <desc> lists further ones
// Cost of a position next to two curves, which exceeds that of any position next to one.
constexpr double kAmbiguityCost = 100;

class SweepDrawing {
public:
    SweepDrawing(const SweepScene& scene, const SweepPlot& plot)
        : scene_(scene), plot_(plot), placer_({kFrameLeft + 2, kFrameTop + 2}, {scene.x.to_px - 2, kFrameBottom - 2}) {}

    std::string draw();
    [[nodiscard]] double height() const { return height_; }

private:
    void axes();
    void fraction_axis();
    void peaks();
    void peak_label(double peak, const std::string& text);
    void critical(std::size_t index);
    void critical_label(std::size_t index);
    void curve(std::size_t index);
    void curve_label(std::size_t index);
    void legend();
    void legend_row(double y, const std::string& css, const std::string& text, const std::string& detail, bool line,
                    std::optional<Mark> mark);
    /// Whether a legend names the curves because there are more than labels could distinguish: one colour per family,
    /// one dash pattern per kind.
    [[nodiscard]] bool has_legend() const { return scene_.families.size() > 1 && scene_.curves.size() > 3; }
    [[nodiscard]] std::size_t family_of(std::size_t index) const {
        const auto& all = scene_.families;
        return static_cast<std::size_t>(std::find(all.begin(), all.end(), scene_.curves[index].family) - all.begin());
    }
    [[nodiscard]] std::size_t colour_of(std::size_t index) const { return has_legend() ? family_of(index) : index; }
    [[nodiscard]] std::size_t dash_of(std::size_t index) const;
    [[nodiscard]] int hue_of(std::size_t index) const { return kHues[colour_of(index) % kHues.size()]; }
    [[nodiscard]] bool near_other_curve(std::size_t index, const LabelBox& box) const;
    [[nodiscard]] XY at(double size, double rate) const { return {scene_.x.at(size), scene_.y.at(rate)}; }
    [[nodiscard]] double critical_rate(const PlotCurve& curve) const;

    const SweepScene& scene_;
    const SweepPlot& plot_;
    SvgWriter svg_;
    SvgWriter labels_;
    LabelPlacer placer_;
    std::vector<std::vector<XY>> lines_;
    double height_ = kPlotHeight;
};

std::size_t SweepDrawing::dash_of(std::size_t index) const {
    if (!has_legend()) return index % 4;
    const std::string& kind = scene_.curves[index].kind;
    return kind == "bound" ? 1 : kind == "measured" ? 2 : 0;
}

void SweepDrawing::legend_row(double y, const std::string& css, const std::string& text, const std::string& detail,
                              bool line, std::optional<Mark> mark) {
    constexpr double length = 34;
    if (line) svg_.polyline("curve " + css, {{kFrameLeft, y}, {kFrameLeft + length, y}});
    if (mark) svg_.mark(fmt::format("mark f{}", css.substr(1, 1)), *mark, {kFrameLeft + length / 2, y}, 3.6);
    const double left = kFrameLeft + length + 8;
    const std::string name = fitted(text, kFontSize, detail.empty() ? kFrameRight - left : 400);
    labels_.text("legend", {left, y}, Anchor::start, name);
    if (!detail.empty()) labels_.text("weak", {kFrameRight, y}, Anchor::end, detail);
}

void SweepDrawing::legend() {
    constexpr double row = 18;
    double y = kPlotHeight + 4;
    for (const auto& [kind, dash] : {std::pair{"bound", 1}, std::pair{"expected", 0}, std::pair{"measured", 2}}) {
        const bool drawn = std::any_of(scene_.curves.begin(), scene_.curves.end(),
                                       [&, wanted = kind](const PlotCurve& c) { return c.kind == wanted; });
        if (!drawn) continue;
        legend_row(y, fmt::format("s6 dash{}", dash), kind, "", true, {});
        y += row;
    }
    for (std::size_t family = 0; family < scene_.families.size(); ++family) {
        std::string critical;
        bool line = false;
        bool marks = false;
        for (const PlotCurve& c : scene_.curves) {
            if (c.family != scene_.families[family]) continue;
            line = line || c.line != PlotLine::none;
            marks = marks || c.line != PlotLine::steps;
            if (c.critical) critical = c.critical_text;
        }
        if (!critical.empty() && plot_.y_unit.empty()) critical.insert(0, "compute-bound ");
        legend_row(y, fmt::format("s{}", kHues[family % kHues.size()]), scene_.families[family], critical, line,
                   marks ? std::optional(kMarks[family % kMarks.size()]) : std::nullopt);
        y += row;
    }
    height_ = y + 4;
}

void SweepDrawing::axes() {
    const std::vector<Tick> x_ticks = !scene_.x.log          ? linear_ticks(scene_.x, TickStyle::plain, 8)
                                      : scene_.powers_of_two ? binary_ticks(scene_.x, TickStyle::plain)
                                                             : log_ticks(scene_.x, TickStyle::plain);
    draw_axes(svg_, scene_.x, x_ticks, plot_.x_label, scene_.y, linear_ticks(scene_.y, TickStyle::si), plot_.y_label);
    if (scene_.peak) fraction_axis();
}

void SweepDrawing::fraction_axis() {
    for (int percent = 0; percent <= 100; percent += 20) {
        const double y = scene_.y.at(*scene_.peak * percent / 100);
        svg_.line("frame", {scene_.x.to_px, y}, {scene_.x.to_px + 4, y});
        svg_.text("tick", {scene_.x.to_px + 7, y}, Anchor::start, fmt::format("{} %", percent));
    }
    svg_.text("axis-title", {kPlotWidth - 12, (kFrameTop + kFrameBottom) / 2}, Anchor::middle, "fraction of peak", -90);
}

void SweepDrawing::peak_label(double peak, const std::string& text) {
    const double y = scene_.y.at(peak);
    PlotLabel label{"", text, ""};
    for (double x = scene_.x.from_px + 8; x < scene_.x.to_px; x += 24) {
        label.places.push_back({{x, y - kLabelHalfHeight - 2}, Anchor::start, (x - scene_.x.from_px) / 40});
        label.places.push_back({{x, y + kLabelHalfHeight + 2}, Anchor::start, (x - scene_.x.from_px) / 40 + 8});
    }
    draw_label(labels_, placer_, label);
}

void SweepDrawing::peaks() {
    std::vector<double> drawn;
    for (const PlotCurve& c : scene_.curves) {
        if (!c.peak || std::find(drawn.begin(), drawn.end(), *c.peak) != drawn.end()) continue;
        drawn.push_back(*c.peak);
        const double y = scene_.y.at(*c.peak);
        svg_.line("peak", {scene_.x.from_px, y}, {scene_.x.to_px, y});
        placer_.avoid({scene_.x.from_px, y}, {scene_.x.to_px, y});
        std::vector<std::string> owners;  // the curves that have this peak, unless all do or a legend lists them
        for (const PlotCurve& other : scene_.curves) {
            if (has_legend() || scene_.peak || other.peak != c.peak) continue;
            const std::string& owner = other.kind.empty() ? other.label : other.family;
            const bool known = std::find(owners.begin(), owners.end(), owner) != owners.end();
            if (!owner.empty() && !known) owners.push_back(owner);
        }
        peak_label(*c.peak, fmt::format("{}{}peak {}", fmt::join(owners, ", "), owners.empty() ? "" : " ",
                                        rate_text(plot_, *c.peak)));
        if (scene_.peak) return;
    }
}

/// Returns the rate of the curve at its critical size: interpolated between its points, or the peak if the curve has
/// its corner between them.
double SweepDrawing::critical_rate(const PlotCurve& curve) const {
    const double size = *curve.critical;
    for (std::size_t i = 1; i < curve.points.size(); ++i) {
        const auto& [x0, y0] = curve.points[i - 1];
        const auto& [x1, y1] = curve.points[i];
        if (!(x0 <= size && size <= x1 && x0 < x1)) continue;
        if (corner_after(curve, i - 1)) return *curve.peak;
        const double part = (scene_.x.at(size) - scene_.x.at(x0)) / (scene_.x.at(x1) - scene_.x.at(x0));
        return y0 + part * (y1 - y0);
    }
    const double end = size < curve.points.front().first ? curve.points.front().second : curve.points.back().second;
    return curve.peak.value_or(end);
}

void SweepDrawing::critical(std::size_t index) {
    const PlotCurve& c = scene_.curves[index];
    if (!c.critical || !scene_.x.holds(*c.critical)) return;
    const XY top = at(*c.critical, critical_rate(c));
    const XY foot{top.x, scene_.y.from_px};
    svg_.line("drop", top, foot);
    placer_.avoid(top, foot, 4);
    svg_.mark("ridge", Mark::circle, top, 4);
    placer_.block({top, 4, 4, 0});
}

void SweepDrawing::critical_label(std::size_t index) {
    const PlotCurve& c = scene_.curves[index];
    if (!c.critical || !scene_.x.holds(*c.critical)) return;
    const XY top = at(*c.critical, critical_rate(c));
    for (const std::string& text :
         {(plot_.y_unit.empty() ? "compute-bound " : "") + c.critical_text, c.critical_text}) {
        const bool last_resort = text == c.critical_text;
        PlotLabel label{scene_.curves.size() > 1 ? fmt::format("t{}", hue_of(index)) : "", text, ""};
        for (double y = scene_.y.from_px - 12; y > top.y + 12; y -= 16) {
            const double bias = (scene_.y.from_px - y) / 30;
            label.places.push_back({{top.x + 5, y}, Anchor::start, bias});
            label.places.push_back({{top.x - 5, y}, Anchor::end, bias + 3});
        }
        if (!last_resort) label.worst = 25;  // a drop line through the label
        if (draw_label(labels_, placer_, label)) return;
    }
}

void SweepDrawing::curve(std::size_t index) {
    const PlotCurve& c = scene_.curves[index];
    std::vector<XY> all;
    std::vector<XY> cornered;
    for (std::size_t i = 0; i < c.points.size(); ++i) {
        all.push_back(at(c.points[i].first, c.points[i].second));
        cornered.push_back(all.back());
        if (corner_after(c, i)) cornered.push_back(at(*c.critical, *c.peak));
        if (c.line == PlotLine::steps && i + 1 < c.points.size()) {
            cornered.push_back(at(c.points[i + 1].first, c.points[i].second));
        }
    }
    std::vector<XY> line;
    for (const std::size_t i : simplified_line(cornered, kMaxVertices)) line.push_back(cornered[i]);
    const int hue = hue_of(index);
    if (line.size() > 1 && c.line != PlotLine::none)
        svg_.polyline(fmt::format("curve s{} dash{}", hue, dash_of(index)), line);
    for (std::size_t i = 1; i < line.size() && c.line != PlotLine::none; ++i) placer_.avoid(line[i - 1], line[i], 2);
    if (c.line == PlotLine::none || (c.line == PlotLine::straight && all.size() <= kMaxMarks)) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            svg_.open_group("datum", fmt::format("{}: {} = {}, {}", c.label, plot_.x_label,
                                                 size_text(c.points[i].first), rate_text(plot_, c.points[i].second)));
            svg_.mark(fmt::format("mark f{}", hue), kMarks[colour_of(index) % kMarks.size()], all[i], 3.6);
            svg_.close_group();
            placer_.block({all[i], 3, 3, 0});
        }
    }
    lines_.push_back(std::move(line));
}

/// Whether another curve passes so close to the box that a label there could be taken for that curve's.
bool SweepDrawing::near_other_curve(std::size_t index, const LabelBox& box) const {
    const LabelBox around{box.centre, box.half_width + 12, box.half_height + 12, 0};
    for (std::size_t k = 0; k < lines_.size(); ++k) {
        if (k == index) continue;
        for (std::size_t i = 1; i < lines_[k].size(); ++i) {
            if (length_inside(around, lines_[k][i - 1], lines_[k][i]) > 0) return true;
        }
    }
    return false;
}

/// Writes the label at the end of the curve, or further back along it if other curves end there too.
void SweepDrawing::curve_label(std::size_t index) {
    const std::vector<XY>& line = lines_[index];
    PlotLabel label{fmt::format("t{}", hue_of(index)), scene_.curves[index].label, ""};
    double back = 0;  // distance in pixels from the end
    double next = 0;
    for (std::size_t i = line.size(); i-- > 0;) {
        const XY from = i + 1 < line.size() ? line[i + 1] : line[i];
        const double length = hypotenuse(from.x - line[i].x, from.y - line[i].y);
        for (; next <= back + length; next += 14) {
            const double part = length > 0 ? (next - back) / length : 0;
            const XY p{from.x + part * (line[i].x - from.x), from.y + part * (line[i].y - from.y)};
            const double bias = next / 12 + (near_other_curve(index, {p, 2, 2, 0}) ? kAmbiguityCost : 0);
            label.places.push_back({{p.x - 2, p.y - 13}, Anchor::end, bias});
            label.places.push_back({{p.x + 2, p.y + 13}, Anchor::start, bias + 1});
            label.places.push_back({{p.x + 8, p.y + 6}, Anchor::start, bias + 1});
            label.places.push_back({{p.x - 2, p.y + 14}, Anchor::end, bias + 2});
        }
        back += length;
    }
    for (PlotLabel::Place& place : label.places) {
        if (near_other_curve(index, label_box(label, place))) place.bias += kAmbiguityCost;
    }
    draw_label(labels_, placer_, label);
}

std::string SweepDrawing::draw() {
    axes();
    peaks();
    for (std::size_t i = 0; i < scene_.curves.size(); ++i) curve(i);
    for (std::size_t i = 0; i < scene_.curves.size(); ++i) critical(i);
    if (has_legend()) legend();
    const std::size_t named = has_legend() ? 0 : std::min(scene_.curves.size(), kMaxLabelledCurves);
    for (std::size_t i = 0; i < named; ++i) curve_label(i);
    for (std::size_t i = 0; i < named; ++i) critical_label(i);
    return svg_.str() + labels_.str();
}

}  // namespace

std::string to_svg(const SweepPlot& plot) {
    const SweepScene scene = make_scene(plot);
    const std::string title = plot.title.empty() ? "Sweep" : plot.title;
    SweepDrawing drawing(scene, plot);
    const std::string body = drawing.draw();
    return plot_document(title, plot.subtitle, describe(scene, plot), body, {drawing.height(), {}});
}

}  // namespace roofline::core
