#include <fmt/format.h>

#include <algorithm>

#include "report/op/op_cells.hpp"
#include "report/op/op_page.hpp"
#include "report/op/op_plot.hpp"
#include "report/run/run_figures.hpp"
#include "report/run/run_report.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

std::vector<std::string> notes_of(const RunAnswer& answer) {
    std::vector<std::string> notes = answer.notes;
    if (!answer.points.empty() && answer.points.front().answer) {
        for (const std::string& note : roofline::core::notes_of(*answer.points.front().answer)) {
            if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
        }
    }
    return notes;
}

std::string check_text(const RunPoint& point) {
    if (point.checked == 0) return "not checked: the reference would take too long for a single element";
    const std::string elements = fmt::format("{} element{}", point.checked, point.checked == 1 ? "" : "s");
    if (!point.right()) return fmt::format("WRONG: {} ({} checked)", point.worst, elements);
    return fmt::format("{} right; largest deviation {} of the largest element", elements,
                       point.max_rel_error > 0 ? fmt::format("{:.1e}", point.max_rel_error) : "0");
}

std::string samples_text(const TimedRun& time) {
    return fmt::format("{} to {} (5 % to 95 %), {} of {} samples{}", to_text(Seconds{time.p5}),
                       to_text(Seconds{time.p95}), time.kept, time.tried, time.disturbed ? ": DISTURBED" : "");
}

class RunText {
public:
    RunText(const RunAnswer& answer, bool color) : answer_(answer), point_(answer.points.front()), color_(color) {}

    std::string run() {
        heading();
        measured();
        predicted();
        rates();
        if (point_.pack_s > 0) {
            line("weights", to_text(Seconds{point_.pack_s}),
                 fmt::format("to copy {} of them to another layout, once, before the runs",
                             to_text(Bytes{point_.pack_bytes})));
        }
        line("check", point_.checked == 0 ? "-" : point_.right() ? "right" : "wrong", check_text(point_));
        kernels();
        for (const std::string& note : notes_of(answer_)) {
            out_ += "\n  " + paint("2", wrapped("note: " + note, 2, 8, page_width));
            page_.note(note);
        }
        if (out_.back() != '\n') out_ += '\n';
        return std::move(out_);
    }

    // What run() wrote, as the sections of a page.
    ReportPage page() { return page_.take(); }

private:
    [[nodiscard]] std::string paint(std::string_view code, const std::string& text) const {
        return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
    }

    void line(std::string_view label, const std::string& value, const std::string& what, double exact = 0) {
        page_.fact({std::string(label), value, what, exact > 0 ? exact_number(exact, "s") : ""});
        out_ += fmt::format("  {:<9}  {:>13}  {}\n", label, value, what);
    }

    void heading() {
        out_ += paint("1", answer_.title) + "\n";
        if (!answer_.sizes.empty()) out_ += answer_.sizes + "\n";
        out_ += fmt::format("on {}\n\n", answer_.device);
        const auto tile = [&](const char* label, std::optional<double> seconds) {
            if (seconds) page_.headline({label, to_text(Seconds{*seconds}), "", exact_number(*seconds, "s")});
        };
        tile("measured", point_.cold.median);
        if (point_.answer) tile("expected", point_.answer->expected_s);
        if (point_.answer) tile("lower bound", point_.answer->analysis.total.bounds.lower);
        page_.headline({"check", point_.checked == 0 ? "-" : point_.right() ? "right" : "wrong"});
        page_.section(PagePlace::answer, "Answer");
    }

    void measured() {
        line("measured", paint("1", fmt::format("{:>13}", to_text(Seconds{point_.cold.median}))),
             samples_text(point_.cold), point_.cold.median);
        line("", "",
             fmt::format("from memory: {} set{} of {} in turn", point_.sets, point_.sets == 1 ? "" : "s",
                         to_text(Bytes{point_.set_bytes})));
        line("hot", to_text(Seconds{point_.hot.median}), "same memory in every run, in caches if it fits",
             point_.hot.median);
    }

    void predicted() {
        if (!point_.answer) return;
        const Analysis& total = point_.answer->analysis.total;
        out_ += '\n';
        const double lower = total.bounds.lower;
        const Resource* bound = total.bound_resource();
        line("lower", to_text(Seconds{lower}),
             fmt::format("the run reaches {} % of this bound{}", percent_text(lower / point_.cold.median),
                         bound == nullptr ? "" : fmt::format("; bound by {}", bound->label)),
             lower);
        if (!point_.answer->analysis.kernels.empty()) {
            line("sequential", to_text(Seconds{total.sequential}),
                 fmt::format("{} %: if only the work inside each kernel overlaps",
                             percent_text(total.sequential / point_.cold.median)),
                 total.sequential);
        }
        if (point_.answer->expected_s) {
            const double expected = *point_.answer->expected_s;
            line("expected", to_text(Seconds{expected}),
                 fmt::format("error {} %", percent_text(std::abs(expected / point_.cold.median - 1))), expected);
        } else {
            line("expected", "-",
                 point_.answer->why_not_expected.empty()
                     ? fmt::format("no calibration for {}", point_.answer->machine.name)
                     : point_.answer->why_not_expected);
        }
        line("no overlap", to_text(Seconds{total.bounds.upper}), "without any overlap", total.bounds.upper);
        if (point_.cold.median < lower && !point_.cold.disturbed) {
            line("", "",
                 "the measured time is below the lower bound: inputs may still be in a cache, or a rate of the");
            line("", "", "machine file is too low");
        }
        out_ += '\n';
    }

    void rates() {
        if (!point_.answer) out_ += '\n';
        const double seconds = point_.cold.median;
        if (point_.flops > 0) line("reached", to_text(FlopRate{point_.flops / seconds}), "");
        if (point_.bytes > 0) {
            line(point_.flops > 0 ? "" : "reached", to_text(Bandwidth{point_.bytes / seconds}),
                 fmt::format("of the {} of inputs and results", to_text(Bytes{point_.bytes})));
        }
    }

    void kernels() {
        if (point_.kernels.empty()) return;
        Table table;
        table.head = {"kernel", "measured"};
        table.right = {false, true, true, true};
        const bool priced = point_.answer && point_.answer->analysis.kernels.size() == point_.kernels.size();
        if (priced) table.head.insert(table.head.end(), {"lower", "of roofline", "bound by"});
        for (std::size_t i = 0; i < point_.kernels.size(); ++i) {
            const Analysis* const kernel = priced ? &point_.answer->analysis.kernels[i] : nullptr;
            TableRow row(table);
            if (kernel != nullptr) {
                row.text(fitted(kernel->title, 56), kernel->title);
            } else {
                row.text(fmt::format("{}", i + 1));
            }
            row.number(to_text(Seconds{point_.kernels[i]}), point_.kernels[i], "s");
            if (kernel == nullptr) continue;
            const Resource* bound = kernel->bound_resource();
            row.number(to_text(Seconds{kernel->bounds.lower}), kernel->bounds.lower, "s");
            // All iterations of a repeat are measured together and priced together.
            row.text(point_.kernels[i] > 0 ? percent_text(kernel->bounds.lower / point_.kernels[i]) + " %" : "");
            row.text(bound == nullptr ? "" : bound->label);
        }
        out_ += "\n" + table_text(table, 2);
        page_.section(PagePlace::detail, "Kernels");
        page_.table(std::move(table));
    }

    const RunAnswer& answer_;
    const RunPoint& point_;
    bool color_;
    std::string out_;
    PageWriter page_;
};

constexpr std::string_view disturbed_mark = "? other work disturbed most samples of this point";

bool any_disturbed(const RunAnswer& answer) {
    return std::any_of(answer.points.begin(), answer.points.end(), [](const RunPoint& p) { return p.cold.disturbed; });
}

/// A sweep in three numbers: the range of its times, the greatest fraction of the bound, and whether all are right.
void add_sweep_headlines(PageWriter& page, const RunAnswer& answer) {
    if (answer.points.empty()) return;
    const auto shorter = [](const RunPoint& a, const RunPoint& b) { return a.cold.median < b.cold.median; };
    const auto [least, most] = std::minmax_element(answer.points.begin(), answer.points.end(), shorter);
    page.headline({"measured",
                   fmt::format("{} to {}", to_text(Seconds{least->cold.median}), to_text(Seconds{most->cold.median})),
                   fmt::format("{} points", answer.points.size()), ""});
    double best = 0;
    for (const RunPoint& point : answer.points) {
        if (point.answer) best = std::max(best, point.answer->analysis.total.bounds.lower / point.cold.median);
    }
    if (best > 0) page.headline({"of the lower bound", percent_text(best) + " %", "the point that comes nearest", ""});
    const auto wrong =
        std::count_if(answer.points.begin(), answer.points.end(), [](const RunPoint& point) { return !point.right(); });
    page.headline({"check", wrong == 0 ? "right" : "wrong", wrong == 0 ? "" : fmt::format("{} points", wrong), ""});
}

std::string sweep_text(const RunAnswer& answer, Format format) {
    std::string text;
    if (format == Format::text) {
        text = fmt::format("{}\n{}{}on {}\n\n", answer.title, answer.sizes, answer.sizes.empty() ? "" : "\n",
                           answer.device);
    }
    text += render(run_table(answer, false), format);
    for (const RunPoint& point : answer.points) {
        if (point.right()) continue;
        text += fmt::format("\n  {}\n", check_text(point));
    }
    if (any_disturbed(answer)) text += fmt::format("\n  {}\n", disturbed_mark);
    for (const std::string& note : notes_of(answer)) text += "\n  " + wrapped("note: " + note, 2, 8, page_width);
    if (!text.ends_with('\n')) text += '\n';
    return text;
}

}  // namespace

std::string run_report(const RunAnswer& answer, Format format, bool color) {
    if (format == Format::json) return run_json(answer);
    if (format == Format::csv) return render(run_table(answer, true), format);
    if (answer.axes.empty() && format == Format::text) return RunText(answer, color).run();
    return sweep_text(answer, format);
}

ReportPage run_page(const RunAnswer& answer, const std::vector<Prediction>& predicted) {
    PageWriter page;
    page.question(fmt::format("How long does this take on {}, is the result right, and how close is the prediction?",
                              answer.device));
    if (answer.axes.empty()) {
        RunText text(answer, false);
        (void)text.run();
        page.add(text.page());
        if (!answer.sizes.empty()) page.fact("sizes", "", answer.sizes);
    } else {
        add_sweep_headlines(page, answer);
        page.section(PagePlace::answer, "Points");
        if (!answer.sizes.empty()) page.fact({"sizes", "", answer.sizes, ""});
        page.table(run_table(answer, false));
        for (const RunPoint& point : answer.points) {
            if (!point.right()) page.say(check_text(point));
        }
        if (any_disturbed(answer)) page.say(disturbed_mark);
        for (const std::string& note : notes_of(answer)) page.note(note);
    }
    page.title(answer.title);
    for (const PlotKind kind : {PlotKind::roofline, PlotKind::sweep}) {
        if (predicted.empty() || (kind == PlotKind::sweep) == answer.axes.empty()) continue;
        page.section(PagePlace::answer, "Measured and predicted");
        if (auto svg = run_plot(answer, predicted, kind)) page.picture(std::move(*svg));
    }
    if (answer.axes.empty() && answer.points.front().answer) {
        add_derivation(page, *answer.points.front().answer, "Derivation of the prediction");
    }
    return page.take();
}

Result<std::string> run_plot(const RunAnswer& answer, const std::vector<Prediction>& predicted, PlotKind kind) {
    std::vector<double> seconds;
    if (answer.axes.empty() && !answer.points.front().kernels.empty()) {
        seconds = answer.points.front().kernels;
    } else {
        for (const RunPoint& point : answer.points) seconds.push_back(point.cold.median);
    }
    return op_plot(predicted, answer.axes, kind, false, seconds);
}

}  // namespace roofline::core
