#include "report/trace/profile_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/machine/machine_roofs.hpp"
#include "report/page/page_sources.hpp"
#include "report/plot/plot.hpp"
#include "report/table.hpp"
#include "report/trace/kernel_label.hpp"
#include "report/trace/profile_json.hpp"
#include "report/trace/profile_timeline.hpp"
#include "report/trace/step_comparison_view.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t most_rows = 10;
constexpr std::size_t label_width = 40;

std::string share(double part, double whole) { return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "-"; }

std::string time_or_dash(const std::optional<double>& seconds) { return seconds ? to_text(Seconds{*seconds}) : "-"; }

std::string counted(std::size_t count, std::string_view what) {
    return fmt::format("{} {}{}", grouped(static_cast<std::int64_t>(count)), what, count == 1 ? "" : "s");
}

/// What a row is called: the operation of the framework, or the kernel.
std::string row_label(const ProfileRow& row, std::size_t width) {
    const std::string_view again = row.recomputed ? " (again)" : "";
    const std::size_t room = width - again.size();
    return (row.operation.empty() ? kernel_label(row.name, room) : fitted(row.operation, room)) + std::string(again);
}

class ProfileText {
public:
    ProfileText(const ProfileAnswer& answer, bool color) : answer_(answer), color_(color) {}

    std::string run() {
        heading();
        division();
        classes();
        causes();
        if (answer_.beside) {
            out_ += fmt::format("\n{}\n{}", bold("Compared with the planned " + answer_.beside->job),
                                step_comparison_text(*answer_.beside));
            page_.section(PagePlace::choice, "Compared with the planned " + answer_.beside->job);
            add_comparison(page_, *answer_.beside);
        }
        wins();
        unknowns();
        for (const std::string& note : answer_.notes) remark("note", note);
        return std::move(out_);
    }

    // What run() wrote, as the sections of a page.
    ReportPage page() { return page_.take(); }

private:
    [[nodiscard]] std::string bold(std::string_view text) const {
        return color_ ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text);
    }

    void remark(std::string_view kind, const std::string& text) {
        out_ += fmt::format("  {}: {}\n", kind, wrapped(text, kind.size() + 4, 4, page_width));
        page_.note(kind == "note" ? text : fmt::format("{}: {}", kind, text));
    }

    void heading() {
        out_ += fmt::format("{} on {}: {}", bold(answer_.name), answer_.machine.name, answer_.tool);
        if (answer_.ranks > 1) out_ += fmt::format(", rank {} of {}", answer_.rank, answer_.ranks);
        out_ += fmt::format(", {} on device {}\n\n", counted(answer_.events, "event"), answer_.device);
        page_.title(fmt::format("{} on {}", answer_.name, answer_.machine.name));
        page_.question("Where does the time of this profile go, and what is there to win?");
        page_.section(PagePlace::answer, "Answer");
        page_.say(fmt::format("{}{}, {} on device {}.", answer_.tool,
                              answer_.ranks > 1 ? fmt::format(", rank {} of {}", answer_.rank, answer_.ranks) : "",
                              counted(answer_.events, "event"), answer_.device));
        std::size_t warm_up = 0;
        for (const TimedStep& step : answer_.steps) warm_up += step.warm_up ? 1U : 0U;
        const std::size_t steps = answer_.steps.size() - warm_up;
        std::string of = "from the first event to the end of the last one; the profile has no steps";
        if (answer_.has_steps) {
            of = steps == 1 ? answer_.steps.back().name
                            : fmt::format("average of {} steps, {} to {}", steps, answer_.steps[warm_up].name,
                                          answer_.steps.back().name);
        }
        if (warm_up > 0) of += fmt::format("; {} left out as warm-up", warm_up);
        line(answer_.has_steps ? "step" : "time", answer_.step.total, of);
        tile(answer_.has_steps ? "a step" : "time", answer_.step.total);
        const double should = answer_.should_s;
        tile("only collectives ran", answer_.step.exposed);
        if (should > 0) {
            tile(answer_.expected ? "its kernels, expected" : "its kernels, bound", should);
            line(answer_.expected ? "expected" : "bound", should,
                 fmt::format(
                     "of {} % of the time of its kernels, one after another",
                     percent_text(1 - (answer_.unknown_s + answer_.recomputed_s) / std::max(kernel_seconds(), 1e-30))));
        }
    }

    [[nodiscard]] double kernel_seconds() const {
        double sum = 0;
        for (const ProfileRow& row : answer_.rows) {
            if (row.work == DeviceWork::kernel) sum += row.measured_s;
        }
        return sum;
    }

    void tile(std::string_view label, double seconds) {
        if (seconds > 0) {
            page_.headline({std::string(label), to_text(Seconds{seconds}), "", exact_number(seconds, "s")});
        }
    }

    void fact(std::string_view label, double seconds, std::string_view what, std::optional<double> part = {}) {
        page_.fact(
            {std::string(label), to_text(Seconds{seconds}), std::string(what), exact_number(seconds, "s"), part});
    }

    void line(std::string_view label, double seconds, std::string_view what) {
        fact(label, seconds, what);
        out_ += fmt::format("  {:<10}{:>10}  {}\n", label, to_text(Seconds{seconds}), what);
    }

    void division() {
        const AverageStep& step = answer_.step;
        out_ += fmt::format("\n{}\n", bold(answer_.has_steps ? "Where a step goes" : "Where the time goes"));
        page_.section(PagePlace::answer, answer_.has_steps ? "Where a step goes" : "Where the time goes");
        const auto part = [&](double seconds, std::string_view what) {
            if (seconds > 0) {
                out_ +=
                    fmt::format("  {:>7}  {:>9}  {}\n", share(seconds, step.total), to_text(Seconds{seconds}), what);
                fact(share(seconds, step.total), seconds, what, seconds / step.total);
            }
        };
        part(step.kernels, step.hidden > 0 ? fmt::format("kernels, with {} of collectives hidden behind them",
                                                         to_text(Seconds{step.hidden}))
                                           : "kernels");
        part(step.exposed, "exposed communication: only collectives ran");
        part(step.copies, "only copies and memory sets ran");
        part(step.host, "nothing ran, because the host had launched nothing");
        part(step.queued, "nothing ran, although the next kernel was launched: its start, or what it waits for");
        part(step.idle, "nothing ran");
    }

    void classes() {
        Table table;
        table.head = {"kind", "runs", "time", "share", answer_.expected ? "expected" : "bound", "achieved"};
        table.right = {false, true, true, true, true, true};
        double all = 0;
        for (const ProfileClass& of : answer_.classes) all += of.measured_s;
        for (const ProfileClass& of : answer_.classes) {
            std::string achieved = of.known_s > 0 ? percent_text(of.should_s / of.known_s) + " %" : "-";
            if (of.known_s > 0 && of.known_s < 0.995 * of.measured_s) {
                achieved += fmt::format(" of {}", to_text(Seconds{of.known_s}));
            }
            TableRow row(table);
            row.text(std::string(of.kind)).number(fmt::format("{:.6g}", of.count), of.count);
            row.number(to_text(Seconds{of.measured_s}), of.measured_s, "s");
            row.number(share(of.measured_s, all), all > 0 ? of.measured_s / all : 0);
            if (of.known_s > 0) {
                row.number(to_text(Seconds{of.should_s}), of.should_s, "s");
            } else {
                row.text("-");
            }
            row.text(std::move(achieved));
        }
        out_ += fmt::format("\n{}\n{}", bold("By kind"), table_text(table, 2));
        page_.section(PagePlace::detail, "By kind");
        page_.table(std::move(table));
    }

    // The causes add up to the step.
    void causes() {
        out_ += fmt::format("\n{}\n", bold("Why it takes this long"));
        page_.section(PagePlace::answer, "Why it takes this long");
        const auto entry = [&](std::string_view sign, double seconds, std::string_view what) {
            out_ += fmt::format("  {:>1} {:>9}  {}\n", sign, to_text(Seconds{std::abs(seconds)}), what);
            fact(sign, std::abs(seconds), what);
        };
        if (answer_.should_s > 0) {
            entry("", answer_.should_s,
                  answer_.expected ? "kernels at their expected times" : "kernels at their lower bounds");
        }
        if (answer_.unknown_s > 0)
            entry(answer_.should_s > 0 ? "+" : "", answer_.unknown_s, "kernels of unknown cost, as they were measured");
        for (const ProfileCause& cause : answer_.causes) {
            entry(cause.seconds < 0 ? "-" : "+", cause.seconds, cause.name);
        }
        entry("=", answer_.step.total, answer_.has_steps ? "the step" : "the time");
    }

    void wins() {
        std::vector<const ProfileRow*> rows;
        for (const ProfileRow& row : answer_.rows) {
            if (row.win_s() > 0) rows.push_back(&row);
        }
        if (rows.empty()) return;
        std::sort(rows.begin(), rows.end(),
                  [](const ProfileRow* a, const ProfileRow* b) { return a->win_s() > b->win_s(); });
        Table table;
        table.head = {"operation", "inputs or message", "runs", "time", answer_.expected ? "expected" : "bound",
                      "win",       "bound by"};
        table.right = {false, false, true, true, true, true, false};
        const std::size_t shown = std::min(rows.size(), most_rows);
        constexpr std::size_t most_page_rows = 500;
        for (std::size_t i = 0; i < std::min(rows.size(), most_page_rows); ++i) {
            const ProfileRow& row = *rows[i];
            const auto should = row.should_s();
            TableRow cells(table);
            cells.text(row_label(row, 34), row.operation.empty() ? row.name : row.operation);
            cells.text(fitted(row.shapes, 30), row.shapes).number(fmt::format("{:.6g}", row.count), row.count);
            cells.number(to_text(Seconds{row.measured_s}), row.measured_s, "s");
            cells.number(time_or_dash(should), should.value_or(0), "s");
            cells.number(to_text(Seconds{row.win_s()}), row.win_s(), "s").text(row.bound_by);
        }
        out_ += fmt::format("\n{}\n{}", bold("Most to win"), table_text(first_rows(table, shown), 2));
        page_.section(PagePlace::choice, "Most to win");
        page_.table(std::move(table));
        if (rows.size() > shown) {
            out_ += fmt::format("  {} more: all of them with --csv or --json\n", rows.size() - shown);
        }
    }

    void unknowns() {
        std::vector<const ProfileRow*> rows;
        double seconds = 0;
        for (const ProfileRow& row : answer_.rows) {
            if (row.unknown.empty()) continue;
            rows.push_back(&row);
            seconds += row.measured_s;
        }
        out_ += '\n';
        if (rows.empty()) return;
        constexpr std::size_t most = 4;
        for (std::size_t i = 0; i < std::min(rows.size(), most); ++i) {
            const ProfileRow& row = *rows[i];
            remark("unknown",
                   fmt::format("{}, {} ({}): {}", row_label(row, label_width), to_text(Seconds{row.measured_s}),
                               share(row.measured_s, answer_.step.total), row.unknown));
        }
        if (rows.size() > most) {
            out_ += fmt::format("  {} operations are unknown, {} together\n", rows.size(), to_text(Seconds{seconds}));
        }
    }

    const ProfileAnswer& answer_;
    bool color_;
    std::string out_;
    PageWriter page_;
};

Table row_table(const ProfileAnswer& answer, bool exact) {
    Table table;
    table.head = {"name",  "operation", "inputs",     "kind",     "count",  "measured_s", "least_s",   "flops",
                  "bytes", "lower_s",   "expected_s", "bound_by", "source", "unknown",    "recomputed"};
    const auto number = [&](double value) { return exact ? exact_text(value) : fmt::format("{:.6g}", value); };
    const auto some = [&](const std::optional<double>& value) { return value ? number(*value) : std::string(); };
    for (const ProfileRow& row : answer.rows) {
        table.rows.push_back({row.name, row.operation, row.shapes, std::string(row.kind), number(row.count),
                              number(row.measured_s), number(row.least_s), some(row.flops), some(row.bytes),
                              some(row.lower_s), some(row.expected_s), row.bound_by, row.source, row.unknown,
                              row.recomputed ? "1" : "0"});
    }
    return table;
}

}  // namespace

std::string profile_view(const ProfileAnswer& answer, Format format, bool color) {
    switch (format) {
        case Format::json:
            return profile_json(answer);
        case Format::csv:
            return table_csv(row_table(answer, true));
        case Format::markdown:
            return table_markdown(row_table(answer, false));
        case Format::text:
            break;
    }
    return ProfileText(answer, color).run();
}

ReportPage profile_page(const ProfileAnswer& answer) {
    ProfileText text(answer, false);
    (void)text.run();
    PageWriter page;
    ReportPage sections = text.page();
    page.title(sections.title);
    page.question(sections.question);
    page.add(std::move(sections));
    page.section(PagePlace::choice, "Operations on the roofline");
    page.picture(profile_plot(answer));
    page.section(PagePlace::detail, "Time line");
    page.picture(profile_timeline(answer));
    PageSources sources;
    sources.add_roofs(answer.machine);
    sources.write(page);
    return page.take();
}

std::string profile_plot(const ProfileAnswer& answer) {
    RooflinePlot plot;
    plot.title = "Operations of " + answer.name;
    plot.subtitle = fmt::format("{}; measured; those that take longest are labelled first", answer.machine.name);
    plot.roofs = roofs_of(answer.machine);
    plot.ceilings = ceilings_of(answer.machine);
    constexpr std::size_t most = 200;
    for (const ProfileRow& row : answer.rows) {
        if (plot.points.size() >= most) break;
        if (row.kind == "collective" || !row.flops || !row.bytes || !(*row.flops > 0) || !(*row.bytes > 0)) continue;
        plot.points.push_back(
            {row_label(row, label_width), *row.flops / *row.bytes, *row.flops / row.measured_s, row.bound_by, false});
    }
    return to_svg(plot);
}

}  // namespace roofline::core
