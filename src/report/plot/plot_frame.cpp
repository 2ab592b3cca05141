#include "report/plot/plot_frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/portable_math.hpp"

namespace roofline::core {
namespace {

// Lines use the palette of Okabe and Ito; text uses darker variants of the same hues (contrast 4.5:1 against the
// paper). The rules without media query come first because a renderer that does not support media queries then draws
// the light theme. Every rule is scoped to .rl-plot so that it does not affect the styles of a page that embeds the
// plot.
constexpr std::string_view kStyle = R"(
.rl-plot{font-family:"Helvetica Neue",Helvetica,Arial,"Liberation Sans","DejaVu Sans",sans-serif;font-size:12px}
.rl-plot .paper{fill:#fff}
.rl-plot text{fill:#1b1f24}
.rl-plot .heading{font-size:15px;font-weight:bold}
.rl-plot .axis-title{font-size:13px}
.rl-plot .weak{fill:#57606a}
.rl-plot .fine{font-size:10px}
.rl-plot .halo{stroke:#fff;stroke-width:3;stroke-linejoin:round;paint-order:stroke}
.rl-plot .frame{fill:none;stroke:#57606a;stroke-width:1}
.rl-plot .grid{stroke:#d5d9df;stroke-width:1}
.rl-plot .minor{stroke:#eceef1;stroke-width:1}
.rl-plot .roof,.rl-plot .curve{fill:none;stroke-width:2;stroke-linejoin:round}
.rl-plot .ceiling{fill:none;stroke:#1b1f24;stroke-width:2}
.rl-plot .vector{stroke:#6e7781;stroke-dasharray:10 3 2 3}
.rl-plot .low{stroke-dasharray:7 4}
.rl-plot .path{fill:none;stroke-width:7;stroke-opacity:.4;stroke-linejoin:round;stroke-linecap:round}
.rl-plot .leader{stroke:#6e7781;stroke-width:.8}
.rl-plot .peak{stroke:#57606a;stroke-width:1.5;stroke-dasharray:4 3}
.rl-plot .drop{stroke:#57606a;stroke-width:1;stroke-dasharray:2 3}
.rl-plot .ridge{fill:#fff;stroke:#1b1f24;stroke-width:1.3}
.rl-plot .mark{stroke:#fff;stroke-width:1.2}
.rl-plot .dash1{stroke-dasharray:8 4}
.rl-plot .dash2{stroke-dasharray:2 3}
.rl-plot .dash3{stroke-dasharray:10 3 2 3}
.rl-plot .s0{stroke:#0072b2}
.rl-plot .s1{stroke:#009e73}
.rl-plot .s2{stroke:#cc79a7}
.rl-plot .s3{stroke:#e69f00}
.rl-plot .s4{stroke:#56b4e9}
.rl-plot .s5{stroke:#d55e00}
.rl-plot .s6{stroke:#57606a}
.rl-plot .s7{stroke:#7b4ea3}
.rl-plot .f0{fill:#0072b2}
.rl-plot .f1{fill:#009e73}
.rl-plot .f2{fill:#cc79a7}
.rl-plot .f3{fill:#e69f00}
.rl-plot .f4{fill:#56b4e9}
.rl-plot .f5{fill:#d55e00}
.rl-plot .f6{fill:#57606a}
.rl-plot .f7{fill:#7b4ea3}
.rl-plot .t0{fill:#00609a}
.rl-plot .t1{fill:#00694d}
.rl-plot .t2{fill:#96406f}
.rl-plot .t3{fill:#7d5700}
.rl-plot .t4{fill:#1d6a9c}
.rl-plot .t5{fill:#b04a00}
.rl-plot .t6{fill:#434a52}
.rl-plot .t7{fill:#653a8e}
@media (prefers-color-scheme:dark){
.rl-plot .paper{fill:#14181d}
.rl-plot text{fill:#e6e9ed}
.rl-plot .weak{fill:#a3acb7}
.rl-plot .halo{stroke:#14181d}
.rl-plot .frame{stroke:#8b949e}
.rl-plot .grid{stroke:#333a43}
.rl-plot .minor{stroke:#20262d}
.rl-plot .ceiling{stroke:#e6e9ed}
.rl-plot .vector{stroke:#8b949e}
.rl-plot .leader,.rl-plot .drop,.rl-plot .peak{stroke:#a3acb7}
.rl-plot .ridge{fill:#14181d;stroke:#e6e9ed}
.rl-plot .mark{stroke:#14181d}
.rl-plot .s0{stroke:#3d9fe0}
.rl-plot .f0{fill:#3d9fe0}
.rl-plot .t0{fill:#6bbcf2}
.rl-plot .t1{fill:#3fcf9f}
.rl-plot .t2{fill:#e6a5c8}
.rl-plot .t3{fill:#f0b93a}
.rl-plot .t4{fill:#8ccbf0}
.rl-plot .t5{fill:#ff9d57}
.rl-plot .s5{stroke:#f07b26}
.rl-plot .f5{fill:#f07b26}
.rl-plot .s6{stroke:#a3acb7}
.rl-plot .f6{fill:#a3acb7}
.rl-plot .t6{fill:#c3cad2}
.rl-plot .s7{stroke:#b48ae0}
.rl-plot .f7{fill:#b48ae0}
.rl-plot .t7{fill:#c9a8ee}
}
)";

constexpr double kDetailSize = 11;
constexpr double kBold = 1.12;  // width of bold text relative to regular text
constexpr std::size_t kMaxLabelCharacters = 48;

/// FNV-1a hash of the text: ids differ between plots on one page and do not change from run to run.
std::uint64_t fingerprint(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return hash;
}

/// Returns the leader: from the rim of the mark to the nearest point of the box.
std::pair<XY, XY> leader_to(const LabelBox& box, const PlotLabel& label) {
    const XY from = label.target;
    const XY to{std::clamp(from.x, box.centre.x - box.half_width, box.centre.x + box.half_width),
                std::clamp(from.y, box.centre.y - box.half_height, box.centre.y + box.half_height)};
    const double length = hypotenuse(to.x - from.x, to.y - from.y);
    const double part = length > 0 ? std::min(1.0, label.target_radius / length) : 0;
    return {{from.x + part * (to.x - from.x), from.y + part * (to.y - from.y)}, to};
}

// Draws the subtitle on one line, or, if it is too long, on two smaller lines that are broken at a comma.
void draw_subtitle(SvgWriter& svg, std::string_view subtitle) {
    constexpr double room = kFrameRight - kFrameLeft;
    constexpr double fine = 10;  // font size of .fine text
    if (subtitle.empty()) return;
    if (text_width(subtitle, kFontSize) <= room) {
        svg.text("weak", {kFrameLeft, 43}, Anchor::start, subtitle);
        return;
    }
    std::size_t end = subtitle.rfind(", ");
    while (end != std::string_view::npos && end > 0 && text_width(subtitle.substr(0, end + 1), fine) > room) {
        end = subtitle.rfind(", ", end - 1);
    }
    const bool one = end == std::string_view::npos || end == 0 || text_width(subtitle, fine) <= room;
    svg.text("weak fine", {kFrameLeft, one ? 43.0 : 38.0}, Anchor::start,
             fitted(one ? subtitle : subtitle.substr(0, end + 1), fine, room));
    if (!one) svg.text("weak fine", {kFrameLeft, 51}, Anchor::start, fitted(subtitle.substr(end + 2), fine, room));
}

}  // namespace

bool drawable(double value) { return std::isfinite(value) && value > 1e-60 && value < 1e60; }

LabelBox label_box(const PlotLabel& label, const PlotLabel::Place& place) {
    const double width = std::max(text_width(shortened(label.text, kMaxLabelCharacters), kFontSize),
                                  text_width(shortened(label.detail, kMaxLabelCharacters), kDetailSize));
    // Only horizontal text is anchored at its ends.
    const double shift = place.anchor == Anchor::middle ? 0 : place.anchor == Anchor::start ? width / 2 : -width / 2;
    const double half_height = label.detail.empty() ? kLabelHalfHeight : kDetailedHalfHeight;
    return {{place.at.x + shift, place.at.y}, width / 2 + 1, half_height, place.degrees};
}

bool draw_label(SvgWriter& svg, LabelPlacer& placer, const PlotLabel& label) {
    const std::string text = shortened(label.text, kMaxLabelCharacters);
    const std::string detail = shortened(label.detail, kMaxLabelCharacters);
    if (text.empty()) return false;
    std::vector<LabelCandidate> candidates;
    for (const PlotLabel::Place& place : label.places) {
        LabelCandidate candidate{label_box(label, place), place.bias};
        if (place.leader) candidate.leader = leader_to(candidate.box, label);
        candidates.push_back(candidate);
    }
    const auto chosen = placer.place(candidates, label.worst);
    if (!chosen) return false;
    const PlotLabel::Place& place = label.places[*chosen];
    if (const auto& leader = candidates[*chosen].leader) svg.line("leader", leader->first, leader->second);
    const std::string css = label.css_class.empty() ? "label halo" : "label halo " + label.css_class;
    const double up = detail.empty() ? 0 : kDetailedHalfHeight - kLabelHalfHeight;
    svg.text(css, {place.at.x, place.at.y - up}, place.anchor, text, place.degrees);
    if (!detail.empty())
        svg.text("detail halo weak", {place.at.x, place.at.y + up}, place.anchor, detail, place.degrees);
    return true;
}

void add_positions_around(PlotLabel& label, double farthest) {
    const double half_height = label.detail.empty() ? kLabelHalfHeight : kDetailedHalfHeight;
    const double near = label.target_radius + 5;
    const auto add = [&](double dx, double dy, Anchor anchor, double bias, bool leader) {
        label.places.push_back({{label.target.x + dx, label.target.y + dy}, anchor, bias, 0, leader});
    };
    add(near, 0, Anchor::start, 0, false);
    add(near, half_height + 5, Anchor::start, 1, false);
    add(-near, -half_height - 5, Anchor::end, 2, false);
    add(near, -half_height - 5, Anchor::start, 2, false);
    add(-near, half_height + 5, Anchor::end, 2, false);
    add(-near, 0, Anchor::end, 3, false);
    add(0, near + half_height, Anchor::middle, 3, false);
    add(0, -near - half_height, Anchor::middle, 3, false);
    for (const double away : {20.0, 34.0, 50.0, 70.0}) {
        if (away > farthest) break;
        add(near + away / 2, away + half_height - kLabelHalfHeight, Anchor::start, 6 + away / 2, true);
        add(-near - away / 2, -away, Anchor::end, 7 + away / 2, true);
        add(near + away / 2, -away, Anchor::start, 8 + away / 2, true);
        add(-near - away / 2, away, Anchor::end, 8 + away / 2, true);
    }
}

void draw_axes(SvgWriter& svg, const PlotAxis& x, const std::vector<Tick>& x_ticks, std::string_view x_title,
               const PlotAxis& y, const std::vector<Tick>& y_ticks, std::string_view y_title) {
    const auto grid = [&](bool labelled) {
        const std::string_view css = labelled ? "grid" : "minor";
        for (const Tick& t : x_ticks) {
            if (t.label.empty() == labelled) continue;
            svg.line(css, {x.at(t.value), y.from_px}, {x.at(t.value), y.to_px});
        }
        for (const Tick& t : y_ticks) {
            if (t.label.empty() == labelled) continue;
            svg.line(css, {x.from_px, y.at(t.value)}, {x.to_px, y.at(t.value)});
        }
    };
    grid(false);
    grid(true);
    svg.rect("frame", x.from_px, y.to_px, x.to_px - x.from_px, y.from_px - y.to_px);
    for (const Tick& t : x_ticks) {
        if (!t.label.empty()) svg.text("tick", {x.at(t.value), y.from_px + 14}, Anchor::middle, t.label);
    }
    for (const Tick& t : y_ticks) {
        if (!t.label.empty()) svg.text("tick", {x.from_px - 6, y.at(t.value)}, Anchor::end, t.label);
    }
    svg.text("axis-title", {(x.from_px + x.to_px) / 2, y.from_px + 38}, Anchor::middle,
             fitted(x_title, 13, x.to_px - x.from_px));
    svg.text("axis-title", {13, (y.from_px + y.to_px) / 2}, Anchor::middle, fitted(y_title, 13, y.from_px - y.to_px),
             -90);
}

std::string plot_document(std::string_view title, std::string_view subtitle, std::string_view description,
                          const std::string& body, const PlotSheet& sheet) {
    const std::string text = escape_xml(title);
    const std::string about = escape_xml(description, true);
    const std::string id = fmt::format("rl-{:016x}", fingerprint(text + about + body));
    SvgWriter heading;
    heading.rect("paper", 0, 0, kPlotWidth, sheet.height);
    heading.text("heading", {kFrameLeft, 22}, Anchor::start, fitted(title, 15 * kBold, kFrameRight - kFrameLeft));
    draw_subtitle(heading, subtitle);
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"rl-plot\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" role=\"img\" aria-labelledby=\"{2}-title {2}-desc\">\n"
        "<title id=\"{2}-title\">{3}</title>\n<desc id=\"{2}-desc\">{4}</desc>\n<style>{5}{6}</style>\n{7}{8}</svg>\n",
        kPlotWidth, svg_number(sheet.height), id, text, about, kStyle, sheet.style, heading.str(), body);
}

}  // namespace roofline::core
