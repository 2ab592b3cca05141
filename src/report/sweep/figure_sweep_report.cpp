#include "report/sweep/figure_sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "report/figure.hpp"
#include "report/op/op_cells.hpp"
#include "report/page/page_writer.hpp"
#include "report/plot/plot.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

template <class Has>
bool any_answer(std::span<const FigureSweep> sweeps, const Has& has) {
    return std::ranges::any_of(sweeps, [&](const FigureSweep& sweep) {
        return std::ranges::any_of(sweep.points,
                                   [&](const SweptPoint& point) { return point.answer && has(*point.answer); });
    });
}

std::string rate_cell(const FigureSweep& sweep, const SweptAnswer& answer) {
    if (!answer.rate) return "-";
    return sweep.rate == "FLOP/s" ? in_flop_rate(*answer.rate) : in_three_digits(*answer.rate);
}

Table sweep_table_of(std::span<const FigureSweep> sweeps, bool exact) {
    const bool expected = any_answer(sweeps, [](const SweptAnswer& each) { return each.expected_s.has_value(); });
    const bool plans = any_answer(sweeps, [](const SweptAnswer& each) { return !each.plan.empty(); });
    const bool requests = any_answer(sweeps, [](const SweptAnswer& each) { return each.requests.has_value(); });
    const bool notes = any_answer(sweeps, [](const SweptAnswer& each) { return !each.note.empty(); }) ||
                       std::ranges::any_of(sweeps, [](const FigureSweep& sweep) {
                           return std::ranges::any_of(sweep.points, [](const SweptPoint& p) { return !p.answer; });
                       });
    const bool named = sweeps.size() > 1 || exact;
    Table table;
    const auto column = [&](std::string label, bool right) {
        table.head.push_back(std::move(label));
        table.right.push_back(right);
    };
    if (named) column("machine", false);
    for (const SweptAxis& axis : sweeps.front().axes) column(axis.name, true);
    column(exact ? "lower_s" : "lower", true);
    if (expected) column(exact ? "expected_s" : "expected", true);
    column(exact ? "rate" : sweeps.front().rate, true);
    column(exact ? "bound_by" : "bound by", false);
    if (requests) column("requests", true);
    if (plans) column("plan", false);
    if (notes) column(exact ? "note" : "", false);
    for (const FigureSweep& sweep : sweeps) {
        for (const SweptPoint& point : sweep.points) {
            std::vector<std::string> cells;
            if (named) cells.push_back(sweep.machine);
            for (std::size_t i = 0; i < point.at.size(); ++i) {
                const SweptAxis& axis = sweep.axes[i];
                cells.push_back(exact ? raw(axis.numbers[point.at[i]]) : axis.texts[point.at[i]]);
            }
            const SweptAnswer answer = point.answer.value_or(SweptAnswer{});
            const std::string none = exact ? "" : "-";
            cells.push_back(point.answer ? cell<Seconds>(exact, answer.lower_s) : none);
            if (expected) cells.push_back(answer.expected_s ? cell<Seconds>(exact, answer.expected_s) : none);
            cells.push_back(exact ? raw(answer.rate) : rate_cell(sweep, answer));
            cells.push_back(answer.bound_by);
            if (requests) cells.push_back(answer.requests ? fmt::format("{}", *answer.requests) : none);
            if (plans) cells.push_back(answer.plan);
            if (notes) cells.push_back(point.answer ? answer.note : point.refused);
            table.rows.push_back(std::move(cells));
        }
    }
    return table;
}

std::string flip_sentence(const FigureSweep& sweep, const SweptFlip& flip) {
    std::string where;
    for (std::size_t i = 0; i < sweep.axes.size(); ++i) {
        if (i != flip.axis) where += fmt::format(", {} = {}", sweep.axes[i].name, sweep.axes[i].texts[flip.at[i]]);
    }
    const auto named = [](const std::string& text) { return text.empty() ? std::string("nothing") : text; };
    return fmt::format("{} at {} = {}{}: {} -> {}", flip.of_plan ? "the best plan changes" : "the bottleneck changes",
                       sweep.axes[flip.axis].name, flip.text, where, named(flip.before), named(flip.after));
}

std::string below_table(const FigureSweep& sweep, bool named) {
    std::string text;
    for (const SweptFlip& flip : sweep.flips) {
        const std::string words = fmt::format("{}{}", named ? sweep.machine + ": " : "", flip_sentence(sweep, flip));
        text += "  " + wrapped(words, 2, 4, page_width) + "\n";
    }
    return text;
}

std::string text_form(std::span<const FigureSweep> sweeps, bool markdown) {
    const FigureSweep& first = sweeps.front();
    std::string text;
    if (!markdown) {
        text = fmt::format("{}{}\n", first.title, sweeps.size() == 1 ? " on " + first.machine : "");
        text += fmt::format("  times are those of {}; the machine's figures are set as by --set\n\n", first.time);
    }
    const Table table = sweep_table_of(sweeps, false);
    text += markdown ? table_markdown(table) : table_text(table, 2);
    std::string below;
    for (const FigureSweep& sweep : sweeps) below += below_table(sweep, sweeps.size() > 1);
    if (!below.empty()) text += "\n" + below;
    std::vector<std::vector<std::string>> notes;
    for (const FigureSweep& sweep : sweeps) notes.push_back(sweep.notes);
    return text + notes_once(notes);
}

FigureValue json_form(const FigureSweep& sweep) {
    FigureValue axes = FigureValue::array();
    for (const SweptAxis& axis : sweep.axes) {
        axes.push_back({{"name", axis.name}, {"unit", optional_string(axis.unit)}, {"values", axis.numbers}});
    }
    const auto at_of = [&](const std::vector<std::size_t>& at) {
        FigureValue object = FigureValue::object();
        for (std::size_t i = 0; i < at.size(); ++i) object[sweep.axes[i].name] = sweep.axes[i].numbers[at[i]];
        return object;
    };
    FigureValue points = FigureValue::array();
    for (const SweptPoint& point : sweep.points) {
        FigureValue one = {{"at", at_of(point.at)}};
        const bool known = point.answer.has_value();
        const SweptAnswer answer = point.answer.value_or(SweptAnswer{});
        one["lower_s"] = known ? FigureValue(answer.lower_s) : FigureValue();
        one["expected_s"] = figure_value(answer.expected_s);
        one["rate"] = figure_value(answer.rate);
        one["bound_by"] = optional_string(answer.bound_by);
        one["plan"] = optional_string(answer.plan);
        one["requests"] = answer.requests ? FigureValue(*answer.requests) : FigureValue();
        one["note"] = optional_string(known ? answer.note : point.refused);
        points.push_back(std::move(one));
    }
    FigureValue flips = FigureValue::array();
    for (const SweptFlip& flip : sweep.flips) {
        FigureValue at = at_of(flip.at);
        at[sweep.axes[flip.axis].name] = flip.number;
        flips.push_back({{"of", flip.of_plan ? "plan" : "bound_by"},
                         {"figure", sweep.axes[flip.axis].name},
                         {"at", std::move(at)},
                         {"before", optional_string(flip.before)},
                         {"after", optional_string(flip.after)}});
    }
    return {{"machine", sweep.machine}, {"time", sweep.time},          {"rate", sweep.rate},
            {"axes", std::move(axes)},  {"points", std::move(points)}, {"flips", std::move(flips)},
            {"notes", sweep.notes}};
}

// A unit in which the numbers of an axis are easy to read.
std::pair<std::string, double> scale_of(const SweptAxis& axis) {
    if (axis.unit.empty() || axis.unit == "USD/s") return {axis.unit, 1};
    const double least = *std::ranges::min_element(axis.numbers);
    constexpr std::pair<const char*, double> prefixes[] = {
        {"P", 1e15}, {"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"", 1}, {"m", 1e-3}, {"u", 1e-6}, {"n", 1e-9}};
    for (const auto& [prefix, factor] : prefixes) {
        if (least >= factor) return {prefix + axis.unit, factor};
    }
    return {axis.unit, 1};
}

}  // namespace

std::string figure_sweep_text(std::span<const FigureSweep> sweeps, Format format) {
    if (format == Format::csv) return table_csv(sweep_table_of(sweeps, true));
    if (format != Format::json) return text_form(sweeps, format == Format::markdown);
    if (sweeps.size() == 1) return dumped({{"schema", 1}, {"figure_sweep", json_form(sweeps.front())}}) + "\n";
    std::vector<std::string> all;
    for (const FigureSweep& sweep : sweeps) all.push_back(dumped({{"figure_sweep", json_form(sweep)}}));
    return machines_json(all);
}

Result<std::string> figure_sweep_plot(std::span<const FigureSweep> sweeps) {
    const FigureSweep& first = sweeps.front();
    const SweptAxis& last = first.axes.back();
    constexpr std::size_t most_curves = 16;
    const std::size_t curves = sweeps.size() * (first.points.size() / last.numbers.size());
    if (curves > most_curves) {
        return fail("bad_request",
                    fmt::format("the plot would have {} curves, and {} can be told apart", curves, most_curves),
                    "give the first axis fewer values");
    }
    const auto [unit, factor] = scale_of(last);
    SweepPlot plot;
    plot.title = first.title;
    plot.subtitle = sweeps.size() == 1 ? first.machine : fmt::format("{} machines", sweeps.size());
    plot.x_label = unit.empty() ? last.name : fmt::format("{} ({})", last.name, unit);
    plot.y_label = first.rate + ", expected, or else at the lower bound";
    plot.y_unit = first.rate == "FLOP/s" ? "" : first.rate;
    const auto [least, most] = std::ranges::minmax(last.numbers);
    plot.log_x = most > 10 * least;
    for (const FigureSweep& sweep : sweeps) {
        for (const SweptPoint& point : sweep.points) {
            if (point.at.back() == 0) {
                std::vector<std::string> label;
                if (sweeps.size() > 1) label.push_back(sweep.machine);
                for (std::size_t i = 0; i + 1 < point.at.size(); ++i) {
                    label.push_back(fmt::format("{} = {}", sweep.axes[i].name, sweep.axes[i].texts[point.at[i]]));
                }
                PlotCurve curve;
                curve.label = label.empty() ? sweep.time : fmt::format("{}", fmt::join(label, ", "));
                curve.family = curve.label;
                plot.curves.push_back(std::move(curve));
            }
            if (!point.answer || !point.answer->rate) continue;
            plot.curves.back().points.emplace_back(sweep.axes.back().numbers[point.at.back()] / factor,
                                                   *point.answer->rate);
        }
    }
    for (const SweptFlip& flip : first.flips) {
        if (!flip.of_plan || sweeps.size() > 1 || first.axes.size() > 1) continue;
        plot.curves.front().critical = flip.number / factor;
        plot.curves.front().critical_text = fmt::format("another plan from {}", flip.text);
        break;
    }
    return to_svg(plot);
}

ReportPage figure_sweep_page(std::span<const FigureSweep> sweeps) {
    const FigureSweep& first = sweeps.front();
    PageWriter page;
    page.title(fmt::format("{}{}", first.title, sweeps.size() == 1 ? " on " + first.machine : ""));
    std::vector<std::string> names;
    for (const SweptAxis& axis : first.axes) names.push_back(axis.name);
    page.question(fmt::format("What changes with {}, and where do the best plan and the bottleneck change?",
                              fmt::join(names, " and ")));
    page.section(PagePlace::answer, "Curves");
    if (auto svg = figure_sweep_plot(sweeps)) page.picture(std::move(*svg));
    std::vector<std::string> flips;
    for (const FigureSweep& sweep : sweeps) {
        for (const SweptFlip& flip : sweep.flips) {
            flips.push_back(
                fmt::format("{}{}", sweeps.size() > 1 ? sweep.machine + ": " : "", flip_sentence(sweep, flip)));
        }
        for (const std::string& note : sweep.notes) page.note(note);
    }
    page.section(PagePlace::answer, "Where something changes");
    page.list(std::move(flips));
    page.section(PagePlace::detail, "Points");
    page.say(fmt::format("Times are those of {}; the machine's figures are set as by --set.", first.time));
    page.table(sweep_table_of(sweeps, false));
    return page.take();
}

}  // namespace roofline::core
