#include "report/hlo/hlo_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/figure.hpp"
#include "report/hlo/hlo_json.hpp"
#include "report/machine/machine_roofs.hpp"
#include "report/page/page_sources.hpp"
#include "report/plot/plot.hpp"
#include "report/screen_notes.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t most_ops = 12;
constexpr std::size_t most_page_ops = 500;
constexpr std::size_t most_lines = 8;
constexpr std::size_t deepest_scope = 6;

std::string flops_text(double flops) { return flops > 0 ? to_text(Flops{flops}) : "-"; }
std::string bytes_text(double bytes) { return bytes > 0 ? to_text(Bytes{bytes}) : "-"; }
std::string time_text(const std::optional<double>& seconds) { return seconds ? to_text(Seconds{*seconds}) : "-"; }
std::string share_text(double part, double whole) {
    return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "-";
}

double all_seconds(const ModuleAnswer& answer) { return answer.by_scope.seconds; }

class HloText {
public:
    HloText(const ModuleAnswer& answer, bool color) : answer_(answer), color_(color) {}

    std::string run() {
        heading();
        totals();
        kernels();
        groups();
        memory();
        remarks();
        return std::move(out_);
    }

    // What run() wrote, as the sections of a page.
    ReportPage page() { return page_.take(); }

private:
    [[nodiscard]] std::string bold(std::string_view text) const {
        return color_ ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text);
    }

    void heading() {
        std::string on;
        if (answer_.prediction) {
            const Prediction& prediction = *answer_.prediction;
            const std::int64_t chips = prediction.system.slice.chips();
            on = fmt::format(" on {}, ", prediction.machine.name);
            const std::string shape = prediction.system.slice.shape_text();
            on += chips == 1 ? "1 chip" : fmt::format("{} chips", chips);
            if (shape.find('x') != std::string::npos) on += fmt::format(" ({})", shape);
        }
        out_ += fmt::format("{}{}\n", bold(answer_.name), on);
        std::string of = fmt::format("{} instructions, {} kernels", answer_.instructions, answer_.ops.size());
        if (answer_.devices > 1) of += fmt::format(", the work of one of {} devices", answer_.devices);
        if (answer_.counting != ModuleCounting::ours) {
            of += fmt::format("; counted as XLA's {} counts",
                              answer_.counting == ModuleCounting::xla ? "HloCostAnalysis" : "GpuHloCostAnalysis");
        }
        out_ += fmt::format("  {}\n\n", of);
        page_.title(answer_.name + on);
        page_.question(answer_.prediction ? "How long does this module take, and which of its kernels take longest?"
                                          : "What does this module compute and move?");
        const auto tile = [&](const char* label, std::optional<double> seconds, std::string remark) {
            if (seconds)
                page_.headline({label, to_text(Seconds{*seconds}), std::move(remark), exact_number(*seconds, "s")});
        };
        if (answer_.measured) tile("measured", answer_.measured->step_s, "");
        tile("expected", answer_.expected_s,
             answer_.expected_error ? fmt::format("mean error {:.0f} %", 100 * *answer_.expected_error) : "");
        if (!answer_.expected_s)
            tile("at least", answer_.at_least_s, "bounds and launches where there is no calibration");
        if (answer_.prediction) tile("lower bound", answer_.prediction->analysis.total.bounds.lower, "");
        page_.headline({"FLOPs", flops_text(answer_.flops), "", exact_number(answer_.flops, "FLOP")});
        page_.section(PagePlace::answer, "Answer");
        page_.say(of + ".");
    }

    void line(std::string_view label, std::string_view value, std::string_view what) {
        page_.fact(label, value, what);
        out_ += fmt::format("  {:<16}{:>14}  {}\n", label, value, what);
    }

    void totals() {
        std::string of_flops = fmt::format("{} in matmuls", flops_text(answer_.matmul_flops));
        if (answer_.recomputed_flops > 0) {
            of_flops += fmt::format(", {} ({}) recomputed", flops_text(answer_.recomputed_flops),
                                    share_text(answer_.recomputed_flops, answer_.flops));
        }
        line("FLOPs", flops_text(answer_.flops), of_flops);
        line("bytes", bytes_text(answer_.bytes), "read from and written to the main memory");
        for (const auto& [kind, counted] : answer_.collectives) {
            line(kind, bytes_text(counted.output_bytes),
                 fmt::format("results of {:.6g} execution{}", counted.executed, counted.executed == 1 ? "" : "s"));
        }
        for (const ModuleAnswer::Loop& loop : answer_.loops) {
            line("loop", loop.trips ? fmt::format("{} times", *loop.trips) : "unknown",
                 fmt::format("{}{}", loop.name,
                             loop.given ? ", as --loops says"
                             : loop.trips
                                 ? ""
                                 : fmt::format(": one iteration counts; say how many: --loops {}=N", loop.name)));
        }
        if (!answer_.prediction) return;
        const Prediction& prediction = *answer_.prediction;
        const Analysis& total = prediction.analysis.total;
        out_ += '\n';
        const Resource* bound = total.bound_resource();
        line("lower bound", to_text(Seconds{total.bounds.lower}),
             bound != nullptr ? fmt::format("everything overlaps; bound by {}", bound->label) : "");
        line("sequential", to_text(Seconds{total.sequential}), "kernels one after another, each at its own bound");
        if (answer_.expected_s) {
            line("expected", to_text(Seconds{*answer_.expected_s}),
                 answer_.expected_error
                     ? fmt::format("mean error {:.0f} %; kernels {}", 100 * *answer_.expected_error,
                                   answer_.hidden_s > 0 ? "one after another, asynchronous work beside them"
                                                        : "and collectives one after another")
                     : "");
        } else {
            line("expected", "-",
                 prediction.why_not_expected.empty() ? "the machine is not calibrated" : prediction.why_not_expected);
        }
        if (answer_.at_least_s) {
            std::size_t floored = 0;
            for (const ModuleOp& op : answer_.ops) floored += op.floor_s ? 1U : 0U;
            line("at least", to_text(Seconds{*answer_.at_least_s}),
                 fmt::format("with the bound plus launch overhead for {} kernel{} without a calibration", floored,
                             floored == 1 ? "" : "s"));
        }
        exposure();
        measurement();
    }

    // What a profile of the module says.
    void measurement() {
        if (!answer_.measured) return;
        const ModuleMeasurement& measured = *answer_.measured;
        line("measured", to_text(Seconds{measured.step_s}),
             fmt::format("{}; average of {:.6g} step{}", measured.profile, measured.steps,
                         measured.steps == 1 ? "" : "s"));
        line("kernels", to_text(Seconds{measured.matched_s}), "of that in instructions of the module, added up");
        if (measured.others.empty()) return;
        line("others", to_text(Seconds{measured.other_s}),
             fmt::format("in {} instruction{} that are no kernels of the module, such as {}", measured.others.size(),
                         measured.others.size() == 1 ? "" : "s", measured.others.front().first));
    }

    // What of the communication no kernel hides.
    void exposure() {
        const double whole = all_seconds(answer_);
        if (answer_.exposed_s && whole > 0) {
            line("exposed", to_text(Seconds{*answer_.exposed_s}),
                 fmt::format("collectives that no kernel hides, {} of the {}", share_text(*answer_.exposed_s, whole),
                             time_name()));
        }
        if (answer_.hidden_s > 0) {
            line("hidden", to_text(Seconds{answer_.hidden_s}), "collectives and copies beside kernels");
        }
    }

    [[nodiscard]] std::string time_name() const {
        return answer_.expected ? "expected time" : answer_.at_least_s ? "expected time or bound" : "sequential time";
    }

    void kernels() {
        Table table;
        const bool timed = answer_.prediction.has_value();
        table.head = {"kernel", "op", "runs", "FLOPs", "bytes"};
        table.right = {false, false, true, true, true};
        if (timed) {
            table.head.insert(table.head.end(), {"lower", "expected"});
            if (answer_.hidden_s > 0) table.head.emplace_back("hidden");
            if (answer_.measured) table.head.emplace_back("measured");
            table.right.resize(table.head.size() + 1, true);
            table.head.insert(table.head.end(), {"share", "bound by"});
            table.right.push_back(false);
        }
        const bool places =
            std::any_of(answer_.ops.begin(), answer_.ops.end(), [](const ModuleOp& op) { return !op.source.empty(); });
        if (places) table.head.emplace_back("from");
        for (std::size_t i = 0; i < std::min(answer_.ops.size(), most_page_ops); ++i) {
            const ModuleOp& op = answer_.ops[i];
            TableRow row(table);
            row.text(fitted(op.name, 28), op.name).text(fitted(op.opcode, 14), op.opcode);
            row.number(fmt::format("{:.6g}", op.count), op.count);
            row.number(flops_text(op.flops), op.flops, "FLOP").number(bytes_text(op.bytes), op.bytes, "B");
            if (timed) {
                time_cell(row, op.lower_s);
                time_cell(row, op.expected_s);
                if (answer_.hidden_s > 0) time_cell(row, op.hidden_s > 0 ? std::optional(op.hidden_s) : std::nullopt);
                const double all = answer_.measured ? answer_.measured->step_s : all_seconds(answer_);
                const double own = answer_.measured ? op.measured_s.value_or(0) : op.seconds;
                if (answer_.measured) time_cell(row, op.measured_s);
                row.number(share_text(own, all), all > 0 ? own / all : 0).text(op.bound_by);
            }
            if (places) row.text(op.source);
        }
        const std::string title = !timed             ? "Instructions"
                                  : answer_.measured ? "Kernels by measured time"
                                                     : fmt::format("Kernels by {}", time_name());
        out_ += fmt::format("\n{}\n{}", bold(title), table_text(first_rows(table, most_ops), 2));
        page_.section(PagePlace::detail, title);
        page_.table(std::move(table));
        if (answer_.ops.size() > most_page_ops) {
            page_.say(fmt::format("{} more: all of them with --csv or --json", answer_.ops.size() - most_page_ops));
        }
        if (answer_.ops.size() > most_ops) {
            out_ += fmt::format("  {} more: all of them with --csv or --json\n", answer_.ops.size() - most_ops);
        }
    }

    static void time_cell(TableRow& row, const std::optional<double>& seconds) {
        if (seconds) {
            row.number(time_text(seconds), *seconds, "s");
        } else {
            row.text(time_text(seconds));
        }
    }

    void groups() {
        const double all = all_seconds(answer_);
        if (!(all > 0)) return;
        const bool lines = answer_.by_source.size() > 1 ||
                           (!answer_.by_source.empty() && answer_.by_source.front().name != "(no source line)");
        if (lines) {
            out_ += fmt::format("\n{}\n", bold("Source lines"));
            page_.section(PagePlace::detail, "Source lines");
            Table table{{"share", "time", "line"}, {}, {true, true, false}};
            for (std::size_t i = 0; i < std::min(answer_.by_source.size(), most_lines); ++i) {
                const ModuleGroup& line = answer_.by_source[i];
                out_ += fmt::format("  {:>7}  {:>9}  {}\n", share_text(line.seconds, all),
                                    to_text(Seconds{line.seconds}), line.name);
            }
            for (std::size_t i = 0; i < std::min(answer_.by_source.size(), most_page_ops); ++i) {
                const ModuleGroup& line = answer_.by_source[i];
                TableRow row(table);
                row.number(share_text(line.seconds, all), line.seconds / all);
                row.number(to_text(Seconds{line.seconds}), line.seconds, "s").text(line.name);
            }
            page_.table(std::move(table));
        }
        if (answer_.by_scope.parts.size() == 1 && answer_.by_scope.parts.front().name == "(no scope)") return;
        out_ += fmt::format("\n{}\n", bold("Scopes of at least 3 %"));
        page_.section(PagePlace::detail, "Scopes of at least 3 %");
        std::vector<PageLine> scopes;
        for (const ModuleGroup& part : answer_.by_scope.parts) scope(part, 0, {}, scopes);
        page_.lines(std::move(scopes));
    }

    // Scopes that only contain another one are written in one line.
    void scope(const ModuleGroup& group, std::size_t depth, std::string before, std::vector<PageLine>& lines) {
        const double all = all_seconds(answer_);
        constexpr double least = 0.03;
        if (group.seconds < least * all || depth > deepest_scope) return;
        const std::string name = before.empty() ? group.name : before + "/" + group.name;
        if (group.parts.size() == 1 && group.parts.front().seconds >= 0.999 * group.seconds) {
            scope(group.parts.front(), depth, name, lines);
            return;
        }
        out_ += fmt::format("  {:>7}  {:>9}  {:{}}{}\n", share_text(group.seconds, all),
                            to_text(Seconds{group.seconds}), "", 2 * depth, fitted(name, page_width - 23 - 2 * depth));
        lines.push_back({depth + 1, fmt::format("{:>7}  {:>9}  {}", share_text(group.seconds, all),
                                                to_text(Seconds{group.seconds}), name)});
        for (const ModuleGroup& part : group.parts) scope(part, depth + 1, {}, lines);
    }

    void memory() {
        if (answer_.counting != ModuleCounting::ours) return;
        out_ += '\n';
        page_.section(PagePlace::detail, "Memory");
        std::string of;
        if (answer_.memory.capacity) {
            of = fmt::format("of {}{}", to_text(Bytes{*answer_.memory.capacity}),
                             answer_.memory.peak > *answer_.memory.capacity ? " (does not fit)" : "");
        }
        line("memory", to_text(Bytes{answer_.memory.peak}),
             fmt::format("at the peak {}, {} of arguments", of, to_text(Bytes{answer_.memory.arguments})));
        std::string largest;
        for (std::size_t i = 0; i < std::min<std::size_t>(answer_.memory.largest.size(), 3); ++i) {
            const auto& [name, bytes] = answer_.memory.largest[i];
            largest += fmt::format("{}{} {}", i == 0 ? "" : ", ", fitted(name, 30), to_text(Bytes{bytes}));
        }
        if (!largest.empty()) out_ += fmt::format("  {:<32}largest: {}\n", "", largest);
        if (!largest.empty()) page_.fact("largest", "", largest);
    }

    void remarks() {
        out_ += '\n';
        constexpr std::size_t most = 12;
        for (std::size_t i = 0; i < std::min(answer_.gaps.size(), most); ++i) {
            out_ += "  unknown: " + wrapped(answer_.gaps[i], 11, 4, page_width) + "\n";
        }
        for (const std::string& gap : answer_.gaps) page_.note("unknown: " + gap);
        if (answer_.gaps.size() > most) out_ += fmt::format("  {} more are unknown\n", answer_.gaps.size() - most);
        std::vector<std::string> notes = answer_.notes;
        if (answer_.prediction) {
            const std::vector<std::string> more = notes_of(*answer_.prediction);
            notes.insert(notes.end(), more.begin(), more.end());
        }
        std::set<std::string> said;
        for (const std::string& note : notes_for_screen(std::move(notes))) {
            page_.note(note);
            if (said.size() < most && said.insert(note).second)
                out_ += "  note: " + wrapped(note, 8, 4, page_width) + "\n";
        }
    }

    const ModuleAnswer& answer_;
    bool color_;
    std::string out_;
    PageWriter page_;
};

Table op_table(const std::vector<ModuleAnswer>& answers, bool exact) {
    Table table;
    table.head = {"machine",         "name",   "opcode",  "count",      "flops",    "matmul_flops",
                  "transcendentals", "bytes",  "lower_s", "expected_s", "hidden_s", "measured_s",
                  "bound_by",        "source", "scope"};
    const auto number = [&](double value) { return exact ? exact_text(value) : fmt::format("{:.6g}", value); };
    const auto some = [&](const std::optional<double>& value) { return value ? number(*value) : std::string(); };
    for (const ModuleAnswer& answer : answers) {
        for (const ModuleOp& op : answer.ops) {
            table.rows.push_back({answer.prediction ? answer.prediction->machine.id : "", op.name, op.opcode,
                                  number(op.count), number(op.flops), number(op.matmul_flops),
                                  number(op.transcendentals), number(op.bytes), some(op.lower_s), some(op.expected_s),
                                  op.lower_s ? number(op.hidden_s) : std::string(), some(op.measured_s), op.bound_by,
                                  op.source, op.scope});
        }
    }
    return table;
}

// Machines side by side.
Table machines_table(const std::vector<ModuleAnswer>& answers) {
    Table table;
    table.head = {"machine", "lower bound", "sequential", "expected", "bound by", "peak memory", "capacity"};
    table.right = {false, true, true, true, false, true, true};
    for (const ModuleAnswer& answer : answers) {
        if (!answer.prediction) continue;
        const Prediction& prediction = *answer.prediction;
        const Analysis& total = prediction.analysis.total;
        const Resource* bound = total.bound_resource();
        TableRow row(table);
        row.text(prediction.machine.id).number(to_text(Seconds{total.bounds.lower}), total.bounds.lower, "s");
        row.number(to_text(Seconds{total.sequential}), total.sequential, "s");
        if (answer.expected_s) {
            row.number(time_text(answer.expected_s), *answer.expected_s, "s");
        } else {
            row.text("-");
        }
        row.text(bound != nullptr ? bound->label : "-");
        row.number(to_text(Bytes{answer.memory.peak}), answer.memory.peak, "B");
        row.text(answer.memory.capacity ? to_text(Bytes{*answer.memory.capacity}) : "-");
    }
    return table;
}

std::string machines_text(const std::vector<ModuleAnswer>& answers) {
    return fmt::format("{}\n\n{}", answers.front().name, table_text(machines_table(answers), 2));
}

ReportPage page_of_module(const ModuleAnswer& answer) {
    HloText text(answer, false);
    (void)text.run();
    PageWriter page;
    ReportPage sections = text.page();
    page.title(sections.title);
    page.question(sections.question);
    page.add(std::move(sections));
    if (!answer.prediction) return page.take();
    page.section(PagePlace::answer, "Kernels on the roofline");
    page.picture(hlo_plot(answer));
    add_measurements(page, *answer.prediction);
    PageSources sources;
    sources.add(*answer.prediction);
    sources.add_memory(answer.prediction->machine);
    sources.write(page);
    return page.take();
}

}  // namespace

std::string hlo_view(const std::vector<ModuleAnswer>& answers, Format format, bool color) {
    switch (format) {
        case Format::json: {
            if (answers.size() == 1) return hlo_json(answers.front());
            std::vector<std::string> all;
            for (const ModuleAnswer& answer : answers) all.push_back(hlo_json(answer));
            return machines_json(all);
        }
        case Format::csv:
            return table_csv(op_table(answers, true));
        case Format::markdown:
            return table_markdown(op_table(answers, false));
        case Format::text:
            break;
    }
    return answers.size() == 1 ? HloText(answers.front(), color).run() : machines_text(answers);
}

ReportPage hlo_page(const std::vector<ModuleAnswer>& answers) {
    if (answers.size() == 1) return page_of_module(answers.front());
    PageWriter page;
    page.title(answers.front().name);
    page.question("How long does this module take on each machine?");
    page.section(PagePlace::answer, "Side by side");
    page.table(machines_table(answers));
    for (const ModuleAnswer& answer : answers) {
        page.add(page_of_module(answer), answer.prediction ? answer.prediction->machine.name : "");
    }
    return page.take();
}

std::string hlo_plot(const ModuleAnswer& answer) {
    RooflinePlot plot;
    plot.title = "Kernels of " + answer.name;
    if (!answer.prediction) return to_svg(plot);
    const Machine& machine = answer.prediction->machine;
    plot.subtitle = fmt::format("{}; at their {}; those that take longest are labelled first", machine.name,
                                answer.expected     ? "expected times"
                                : answer.at_least_s ? "expected times, or bounds and launch overheads"
                                                    : "lower bounds");
    plot.roofs = roofs_of(machine);
    plot.ceilings = ceilings_of(machine);
    constexpr std::size_t most = 200;
    constexpr double least = 0.001;
    for (const ModuleOp& op : answer.ops) {
        const double seconds = op.measured_s.value_or(op.seconds + op.hidden_s);
        if (plot.points.size() >= most || seconds < least * all_seconds(answer)) break;
        if (!(op.flops > 0) || !(op.bytes > 0) || !(seconds > 0)) continue;
        plot.points.push_back({op.name, op.flops / op.bytes, op.flops / seconds, op.bound_by, false});
    }
    return to_svg(plot);
}

}  // namespace roofline::core
