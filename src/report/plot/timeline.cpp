#include "report/plot/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "report/plot/plot_frame.hpp"
#include "units/text.hpp"

namespace roofline::core {
namespace {

constexpr std::size_t kMaxSteps = 200;   // maximum number of steps that are drawn
constexpr std::size_t kMaxListed = 16;   // maximum number of steps in the table below
constexpr std::size_t kMaxBrackets = 3;  // maximum depth of nested repeats with brackets
constexpr std::size_t kMaxBars = 2000;
constexpr double kLaneHeight = 34;
constexpr double kBarHeight = 24;
constexpr double kBracketHeight = 21;
constexpr double kRowHeight = 17;
constexpr double kSmall = 11;  // font size of .detail text
constexpr double kLaneLeft = 78;
constexpr double kMinLabelWidth = 56;  // minimum width of a shortened label

constexpr std::string_view kTimelineStyle = R"(
.rl-plot .detail{font-size:11px}
.rl-plot .bar{stroke-width:1;fill-opacity:.3}
.rl-plot .decides{fill-opacity:.6;stroke-width:2}
.rl-plot .narrow{fill-opacity:.85}
.rl-plot .start{stroke:#8b949e;stroke-width:1;stroke-dasharray:2 3}
.rl-plot .bracket{fill:none;stroke:#57606a;stroke-width:1.3}
.rl-plot .strong{font-weight:bold}
@media (prefers-color-scheme:dark){
.rl-plot .bracket{stroke:#a3acb7}
.rl-plot .bar{fill-opacity:.28}
.rl-plot .decides{fill-opacity:.5}
.rl-plot .narrow{fill-opacity:.85}
}
)";

std::string bubble_text(const Timeline& timeline) {
    return fmt::format("{} of them are the pipeline bubble, which is not drawn", to_text(Seconds{timeline.bubble_s}));
}

/// The steps that are drawn, their start positions, and the space of all parts.
class TimelineDrawing {
public:
    explicit TimelineDrawing(const Timeline& timeline) : timeline_(timeline) {
        const std::size_t count = std::min(timeline.steps.size(), kMaxSteps);
        for (std::size_t i = 0; i < count; ++i) {
            starts_.push_back(end_);
            const double seconds = timeline.steps[i].seconds;
            if (std::isfinite(seconds) && seconds > 0) end_ += seconds;
        }
        for (const TimelineRepeat& repeat : timeline.repeats) {
            if (repeat.begin < count) brackets_ = std::max(brackets_, std::min(repeat.depth + 1, kMaxBrackets));
        }
        header_ = kFrameTop + kBracketHeight * static_cast<double>(brackets_);
        lanes_top_ = header_ + 20;
        lanes_bottom_ = lanes_top_ + kLaneHeight * static_cast<double>(timeline.lanes.size());
        axis_ = {false, 0, end_ > 0 ? end_ : 1, kLaneLeft, kFrameRight - 8};
    }

    std::string draw() {
        lanes();
        if (to_scale() && !timeline_.measured) {
            const double x = axis_.at(std::min(timeline_.overlap_s, end_));
            svg_.line("peak", {x, header_ + 20}, {x, lanes_bottom_});
        }
        repeats();
        for (std::size_t i = 0; i < starts_.size(); ++i) step(i);
        time_axis();
        if (!timeline_.measured) {
            marks();
            table();
        }
        return svg_.str() + labels_.str();
    }

    [[nodiscard]] double height() const { return y_ + 8; }

private:
    [[nodiscard]] const TimelineStep& at(std::size_t i) const { return timeline_.steps[i]; }
    [[nodiscard]] double end_of(std::size_t i) const { return i + 1 < starts_.size() ? starts_[i + 1] : end_; }
    [[nodiscard]] bool to_scale() const { return timeline_.repeats.empty() && !cut() && !(timeline_.bubble_s > 0); }
    [[nodiscard]] bool cut() const { return starts_.size() < timeline_.steps.size(); }

    void lanes() {
        for (std::size_t i = 0; i < timeline_.lanes.size(); ++i) {
            const double y = lanes_top_ + kLaneHeight * static_cast<double>(i);
            if (i > 0) svg_.line("grid", {axis_.from_px, y}, {axis_.to_px, y});
            labels_.text("", {kLaneLeft - 8, y + kLaneHeight / 2}, Anchor::end,
                         fitted(timeline_.lanes[i], kFontSize, kLaneLeft - 12));
        }
        svg_.rect("frame", axis_.from_px, lanes_top_, axis_.to_px - axis_.from_px, lanes_bottom_ - lanes_top_);
    }

    void repeats() {
        std::array<double, kMaxBrackets> taken{};  // right ends of the labels so far, per depth
        for (const TimelineRepeat& repeat : timeline_.repeats) {
            if (repeat.begin >= starts_.size() || repeat.depth >= kMaxBrackets || repeat.end <= repeat.begin) continue;
            const bool whole = repeat.end <= starts_.size();
            const double from = axis_.at(starts_[repeat.begin]) + 1;
            const double to = axis_.at(whole ? end_of(repeat.end - 1) : end_) - 1;
            const double y = kFrameTop + kBracketHeight * static_cast<double>(repeat.depth) + 15;
            std::vector<XY> line{{from, y + 5}, {from, y}, {to, y}};
            if (whole) line.push_back({to, y + 5});
            svg_.polyline("bracket", line);
            const std::string text = fitted(fmt::format("\u00d7 {}, drawn once", repeat.times), kSmall, 300);
            const double half = text_width(text, kSmall) / 2;
            const double middle =
                std::clamp((from + to) / 2, kLaneLeft + half, std::max(kLaneLeft + half, axis_.to_px - half));
            // The label is dispensable, because the axis says that repeats are drawn once.
            if (middle - half < taken[repeat.depth]) continue;
            taken[repeat.depth] = middle + half + kSmall;
            labels_.text("detail", {middle, y - 8}, Anchor::middle, text);
        }
    }

    void step(std::size_t i) {
        const double from = axis_.at(starts_[i]);
        const double to = axis_.at(end_of(i));
        // Denser lines would merge into a grey area.
        if (i > 0 && from - last_line_ > 12) {
            svg_.line("start", {from, header_ + 4}, {from, lanes_bottom_});
            last_line_ = from;
        }
        header(i, from, to);
        for (const TimelineBar& bar : at(i).bars) draw_bar(i, bar);
    }

    void header(std::size_t i, double from, double to) {
        const std::string number = std::to_string(i + 1);
        const double room = to - from - 4;
        if (timeline_.steps.size() == 1) return;
        for (const std::string& text : {number + "  " + at(i).label, number + "  " + at(i).name, number}) {
            if (text_width(text, kSmall) > room) continue;
            labels_.text("detail", {(from + to) / 2, header_ + 10}, Anchor::middle, text);
            return;
        }
    }

    void draw_bar(std::size_t step, const TimelineBar& bar) {
        if (!(bar.seconds > 0) || bar.lane >= timeline_.lanes.size() || ++bars_ > kMaxBars) return;
        const double from = axis_.at(starts_[step] + bar.start_s);
        const double to = std::min(axis_.at(starts_[step] + bar.start_s + bar.seconds), axis_.to_px);
        const double y = lanes_top_ + kLaneHeight * static_cast<double>(bar.lane) + (kLaneHeight - kBarHeight) / 2;
        const std::string time = to_text(Seconds{bar.seconds});
        const std::string what = bar.label.empty() ? time : fmt::format("{}, {}", bar.label, time);
        svg_.open_group("datum", fmt::format("{}: {}: {}", at(step).label, timeline_.lanes[bar.lane], what));
        const std::size_t hue = bar.lane % 6;
        // The outline would cover most of a narrow bar.
        const bool narrow = to - from < 4;
        const std::string css =
            narrow ? std::string("narrow") : fmt::format("s{}{}", hue, bar.decides ? " decides" : "");
        svg_.rect(fmt::format("bar f{} {}", hue, css), from + (narrow ? 0 : 1), y,
                  std::max(to - from - (narrow ? 0.4 : 2), 0.8), kBarHeight);
        svg_.close_group();
        const double room = to - from - 6;
        const std::string name = bar.label.substr(0, bar.label.find(", "));  // the name without remarks
        std::string text = text_width(what, kSmall) <= room ? what : fitted(name, kSmall, room);
        if (bar.label.empty() && text != what) return;
        if (text != what && room < kMinLabelWidth) return;  // a few letters are not helpful
        labels_.text("detail", {(from + to) / 2, y + kBarHeight / 2}, Anchor::middle, text);
    }

    void time_axis() {
        // All ticks use the unit of the total: 100 us, not 1e-4.
        const double scale = end_ >= 1 ? 1 : end_ >= 1e-3 ? 1e3 : end_ >= 1e-6 ? 1e6 : 1e9;
        const std::string_view unit = end_ >= 1 ? "s" : end_ >= 1e-3 ? "ms" : end_ >= 1e-6 ? "us" : "ns";
        PlotAxis scaled = axis_;
        scaled.high *= scale;
        for (const Tick& tick : linear_ticks(scaled, TickStyle::plain, 7)) {
            const double x = scaled.at(tick.value);
            svg_.line("frame", {x, lanes_bottom_}, {x, lanes_bottom_ + 4});
            labels_.text("detail", {x, lanes_bottom_ + 13}, Anchor::middle, tick.label);
        }
        const std::string about = timeline_.repeats.empty() ? "" : ", each repeat drawn once";
        y_ = lanes_bottom_ + 31;
        const std::string title = fmt::format("time of one chip, {}{}", unit, about);
        const double half = text_width(title, kFontSize) / 2;
        double middle = (axis_.from_px + axis_.to_px) / 2;
        // Beside the line that marks the lower bound, not across it.
        const double mark = axis_.at(std::min(timeline_.overlap_s, end_));
        if (to_scale() && std::abs(mark - middle) < half + 10) middle = mark - half - 10;
        labels_.text("", {middle, y_}, Anchor::middle, title);
        y_ += 20;
    }

    // Marks the sequential time, and the time if statements overlapped too.
    void marks() {
        const std::string total = fmt::format("sequential {}", to_text(Seconds{timeline_.total_s}));
        const std::string overlap =
            fmt::format("lower {}, if everything overlaps", to_text(Seconds{timeline_.overlap_s}));
        if (!to_scale()) {
            labels_.text(
                "strong", {kLaneLeft, y_}, Anchor::start,
                fmt::format("{}; {}{}", total, overlap, timeline_.repeats.empty() ? "" : ", repeats included"));
            y_ += 20;
            if (timeline_.bubble_s > 0) {
                labels_.text("detail", {kLaneLeft, y_}, Anchor::start, bubble_text(timeline_));
                y_ += 20;
            }
            return;
        }
        const auto mark = [&](double seconds, const std::string& text) {
            const double x = axis_.at(seconds);
            svg_.line("peak", {x, lanes_bottom_}, {x, y_ + 6});
            const double width = text_width(text, kFontSize) * 1.1;
            const bool left = x - width > kLaneLeft;
            labels_.text("strong", {left ? x - 5 : x + 5, y_}, left ? Anchor::end : Anchor::start, text);
            y_ += kRowHeight;
        };
        if (timeline_.steps.size() > 1) mark(std::min(timeline_.overlap_s, end_), overlap);
        mark(end_, timeline_.steps.size() > 1 ? total : overlap);
        y_ += 6;
    }

    // Returns those of the drawn steps that take the longest, in their order, if there are too many to list all.
    [[nodiscard]] std::vector<std::size_t> listed_steps() const {
        std::vector<std::size_t> steps(starts_.size());
        for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = i;
        if (steps.size() <= kMaxListed) return steps;
        std::sort(steps.begin(), steps.end(), [&](std::size_t a, std::size_t b) {
            return at(a).seconds != at(b).seconds ? at(a).seconds > at(b).seconds : a < b;
        });
        steps.resize(kMaxListed);
        std::sort(steps.begin(), steps.end());
        return steps;
    }

    // Returns where to end the first line of a text of limited width: at the end, at a space, or, if it has no space,
    // at the limit.
    [[nodiscard]] static std::size_t line_end(const std::string& text, double width) {
        std::size_t end = text.size();
        while (text_width(std::string_view(text).substr(0, end), kSmall) > width) {
            const std::size_t space = text.rfind(' ', end - 1);
            if (space == std::string::npos || space == 0) return text.size();
            end = space;
        }
        return end;
    }

    // Lists what does not fit into the bars: each step with its time, its bottleneck, and what overlaps with it.
    void table() {
        const double columns[] = {kLaneLeft - 10, kLaneLeft + 4, kLaneLeft + 242, kLaneLeft + 252, kLaneLeft + 346};
        labels_.text("detail weak", {columns[1], y_}, Anchor::start, "statement");
        labels_.text("detail weak", {columns[2], y_}, Anchor::end, "takes");
        labels_.text("detail weak", {columns[3], y_}, Anchor::start, "decided by");
        labels_.text("detail weak", {columns[4], y_}, Anchor::start, "beside it");
        y_ += kRowHeight;
        const std::vector<std::size_t> listed = listed_steps();
        for (const std::size_t i : listed) {
            const TimelineStep& step = at(i);
            labels_.text("detail", {columns[0], y_}, Anchor::end, std::to_string(i + 1));
            const std::size_t end = line_end(step.label, 186);
            labels_.text("detail", {columns[1], y_}, Anchor::start, fitted(step.label.substr(0, end), kSmall, 186));
            labels_.text("detail", {columns[2], y_}, Anchor::end, to_text(Seconds{step.seconds}));
            labels_.text("detail", {columns[3], y_}, Anchor::start, fitted(lanes_of(step, true), kSmall, 92));
            labels_.text("detail", {columns[4], y_}, Anchor::start,
                         fitted(lanes_of(step, false), kSmall, kFrameRight - columns[4]));
            y_ += kRowHeight;
            if (end < step.label.size()) {
                const std::string rest = step.label.substr(end + 1);
                labels_.text("detail", {columns[1] + 10, y_}, Anchor::start,
                             fitted(rest, kSmall, kFrameRight - columns[1] - 10));
                y_ += kRowHeight - 1;
            }
            parts(step, columns[1] + 10);
        }
        std::vector<std::string> left_out;
        if (timeline_.steps.size() > listed.size())
            left_out.push_back(fmt::format("and {} more statements{}", timeline_.steps.size() - listed.size(),
                                           cut() ? "" : ", none of which takes longer"));
        if (cut()) left_out.push_back(fmt::format("the first {} are drawn", starts_.size()));
        if (!left_out.empty()) {
            labels_.text("detail weak", {columns[1], y_}, Anchor::start, fmt::format("{}", fmt::join(left_out, "; ")));
            y_ += kRowHeight;
        }
    }

    // Lists the named parts of a lane's work.
    void parts(const TimelineStep& step, double left) {
        for (const TimelineBar& bar : step.bars) {
            if (bar.lane >= timeline_.lanes.size()) continue;
            for (const std::string& part : bar.parts) {
                const std::string text = fmt::format("{}: {}", timeline_.lanes[bar.lane], part);
                labels_.text("detail weak", {left, y_}, Anchor::start, fitted(text, kSmall, kFrameRight - left));
                y_ += kRowHeight - 1;
            }
        }
    }

public:
    /// Returns "HBM 182 us, ICI 40 us" for the lanes that determine the time of a step, or for all others.
    [[nodiscard]] std::string lanes_of(const TimelineStep& step, bool decides) const {
        std::vector<std::string> parts;
        for (std::size_t lane = 0; lane < timeline_.lanes.size(); ++lane) {
            double seconds = 0;
            bool deciding = false;
            for (const TimelineBar& bar : step.bars) {
                if (bar.lane != lane) continue;
                seconds = std::max(seconds, bar.start_s + bar.seconds);
                deciding = deciding || bar.decides;
            }
            if (seconds <= 0 || deciding != decides) continue;
            parts.push_back(decides ? timeline_.lanes[lane]
                                    : fmt::format("{} {}", timeline_.lanes[lane], to_text(Seconds{seconds})));
        }
        return fmt::format("{}", fmt::join(parts, ", "));
    }

private:
    const Timeline& timeline_;
    std::vector<double> starts_;
    double end_ = 0;  ///< end of the drawn steps, seconds
    std::size_t brackets_ = 0;
    std::size_t bars_ = 0;
    double header_ = 0;
    double lanes_top_ = 0;
    double lanes_bottom_ = 0;
    double y_ = 0;  ///< current bottom edge, below the lanes
    double last_line_ = 0;
    PlotAxis axis_;
    SvgWriter svg_;
    SvgWriter labels_;
};

std::string describe(const Timeline& timeline, const TimelineDrawing& drawing) {
    std::string out = fmt::format(
        "Statements run one after another; all resources of a statement start together. Sequential {}; {} if "
        "everything overlaps.\n",
        to_text(Seconds{timeline.total_s}), to_text(Seconds{timeline.overlap_s}));
    if (timeline.bubble_s > 0) out += bubble_text(timeline) + ".\n";
    for (const TimelineRepeat& repeat : timeline.repeats) {
        out += fmt::format("Statements {} to {}: {} times, drawn once.\n", repeat.begin + 1, repeat.end, repeat.times);
    }
    out += "Statement | time | bound by | overlapped:\n";
    const std::size_t shown = std::min(timeline.steps.size(), kMaxRows);
    for (std::size_t i = 0; i < shown; ++i) {
        const TimelineStep& step = timeline.steps[i];
        out += fmt::format("{} {} | {} | {} | {}\n", i + 1, step.label, to_text(Seconds{step.seconds}),
                           drawing.lanes_of(step, true), drawing.lanes_of(step, false));
        for (const TimelineBar& bar : step.bars) {
            if (bar.lane >= timeline.lanes.size()) continue;
            for (const std::string& part : bar.parts) out += fmt::format("  {}: {}\n", timeline.lanes[bar.lane], part);
        }
    }
    if (shown < timeline.steps.size()) out += fmt::format("and {} more\n", timeline.steps.size() - shown);
    return out;
}

}  // namespace

std::string to_svg(const Timeline& timeline) {
    TimelineDrawing drawing(timeline);
    const std::string body = drawing.draw();
    return plot_document(timeline.title.empty() ? "Time line" : timeline.title, timeline.subtitle,
                         describe(timeline, drawing), body, {drawing.height(), kTimelineStyle});
}

}  // namespace roofline::core
