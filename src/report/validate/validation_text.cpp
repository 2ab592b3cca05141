#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "report/page/page_writer.hpp"
#include "report/table.hpp"
#include "report/validate/comparison_figures.hpp"
#include "report/validate/validation_report.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t shown_worst = 3;
constexpr std::size_t shown_below = 10;
constexpr std::size_t shown_reasons = 6;
constexpr std::size_t shown_groups = 40;

std::string count_text(std::size_t count, std::string_view what) {
    return fmt::format("{} {}{}", grouped(static_cast<std::int64_t>(count)), what, count == 1 ? "" : "s");
}

std::string predicted_name(const ErrorSummary& summary) {
    return summary.of_expected ? "expected time" : "lower bound";
}

std::string stats_text(const ErrorStats& stats) {
    return fmt::format("mean {} %, median {} %, p90 {} %", percent_text(stats.mean), percent_text(stats.median),
                       percent_text(stats.p90));
}

std::string mean_and_median(const ErrorStats& stats) {
    return stats.rows > 0 ? fmt::format("{} ({})", percent_text(stats.mean), percent_text(stats.median)) : "-";
}

/// Returns the mean and median errors of all groups of one kind, with one column per operation.
Table crossed(const Validation& validation, std::string_view by, std::string_view heading) {
    std::set<std::string> operations;
    for (const Comparison& row : validation.rows) operations.insert(row.operation);
    Table table;
    table.head = {std::string(heading)};
    for (const std::string& operation : operations) table.head.push_back(display_name(operation));
    table.head.insert(table.head.end(), {"all", "rows"});
    table.right.assign(table.head.size(), true);
    table.right.front() = false;
    for (const ErrorGroup& group : validation.summary.groups) {
        if (group.by != by) continue;
        if (group.operation.empty() && table.rows.size() == shown_groups) {
            table.rows.push_back({"and more (all of them with --json)"});
            break;
        }
        const std::string error = mean_and_median(group.error);
        if (group.operation.empty()) {
            // Rows are sorted: the row for all operations comes first.
            table.rows.push_back({group.name});
            table.rows.back().resize(table.head.size(), "");
            table.rows.back()[table.head.size() - 2] = error;
            table.rows.back().back() = grouped(static_cast<std::int64_t>(group.error.rows));
            continue;
        }
        const auto column =
            static_cast<std::size_t>(std::distance(operations.begin(), operations.find(group.operation)));
        table.rows.back()[column + 1] = error;
    }
    return table;
}

Table rows_table(const Validation& validation, const std::vector<std::size_t>& indices, std::size_t most) {
    std::vector<Comparison> rows;
    for (std::size_t i = 0; i < std::min(indices.size(), most); ++i) rows.push_back(validation.rows[indices[i]]);
    return comparison_rows(rows, validation.summary.of_expected);
}

std::string heading(const Validation& validation) {
    std::set<std::string> systems;
    for (const Comparison& row : validation.rows) systems.insert(row.system);
    return fmt::format("{}: {} of {}s on {}, {} skipped", validation.table, count_text(validation.rows.size(), "row"),
                       validation.kind, count_text(systems.size(), "system"),
                       grouped(static_cast<std::int64_t>(validation.skipped_rows())));
}

/// Returns the summary of the whole table as pairs of name and value.
std::vector<std::pair<std::string, std::string>> answers(const Validation& validation) {
    const ErrorSummary& summary = validation.summary;
    std::vector<std::pair<std::string, std::string>> lines;
    if (summary.error.rows > 0) {
        lines.emplace_back("error of the " + predicted_name(summary), stats_text(summary.error));
    }
    if (summary.of_expected && summary.error_of_lower.rows > 0) {
        lines.emplace_back("of the lower bound", stats_text(summary.error_of_lower));
    }
    if (validation.rows.empty()) return {{"nothing to compare", "every row is skipped"}};
    lines.emplace_back("below the lower bound", summary.below_lower == 0 ? "no row"
                                                                         : count_text(summary.below_lower, "row") +
                                                                               ": the bound or the table is wrong");
    if (summary.cached > 0) {
        lines.emplace_back("out of a cache",
                           count_text(summary.cached, "row") + ": faster than main memory, because of a cache");
    }
    if (summary.memory.rows > 0) {
        lines.emplace_back("error of the memory",
                           fmt::format("{}, {}", stats_text(summary.memory), count_text(summary.memory.rows, "row")));
    }
    if (summary.repeats) {
        lines.emplace_back("measured again",
                           fmt::format("{} % from their median, {}", percent_text(summary.repeats->mean),
                                       count_text(summary.repeats->rows, "row")));
    }
    for (const Ordering& order : summary.order) {
        lines.emplace_back("order of " + display_name(order.operation),
                           fmt::format("the faster one named in {} % of {}", percent_text(order.fraction()),
                                       count_text(order.pairs, "pair")));
    }
    const ServingFrontiers& frontiers = validation.frontiers;
    if (frontiers.per_chip.rows > 0) {
        lines.emplace_back("error of tokens/s per chip", fmt::format("{}, {}", stats_text(frontiers.per_chip),
                                                                     count_text(frontiers.per_chip.rows, "load")));
    }
    if (frontiers.distance.rows > 0) {
        lines.emplace_back("distance of frontiers",
                           fmt::format("{}, {}, {} more outside", stats_text(frontiers.distance),
                                       count_text(frontiers.distance.rows, "point"),
                                       grouped(static_cast<std::int64_t>(frontiers.outside))));
    }
    if (validation.max_error) {
        lines.emplace_back("at most", fmt::format("{} % asked for: {}", percent_text(*validation.max_error),
                                                  validation.beyond_max_error() ? "missed" : "met"));
    }
    return lines;
}

Table memory_table(const ErrorSummary& summary, std::string_view by) {
    Table table;
    table.head = {"", "mean", "p90", "rows"};
    table.right = {false, true, true, true};
    for (const ErrorGroup& group : summary.memory_groups) {
        if (group.by != by) continue;
        table.rows.push_back({group.name, percent_text(group.error.mean), percent_text(group.error.p90),
                              grouped(static_cast<std::int64_t>(group.error.rows))});
    }
    return table;
}

struct Section {
    std::string title;
    Table table;
};

std::vector<Section> sections(const Validation& validation) {
    std::vector<Section> all;
    const std::string what = "mean (median) error of the " + predicted_name(validation.summary) + " in %, by ";
    all.push_back({what + "system", crossed(validation, "system", "")});
    for (const char* by : {"model", "mode", "source", "strategy", "size", "dtype", "devices", "software"}) {
        const std::vector<ErrorGroup>& groups = validation.summary.groups;
        const bool by_operation = std::any_of(groups.begin(), groups.end(), [&](const ErrorGroup& group) {
            return group.by == by && !group.operation.empty();
        });
        if (by_operation) all.push_back({what + by, crossed(validation, by, "")});
    }
    if (!validation.summary.below.empty()) {
        all.push_back({"below the lower bound", rows_table(validation, validation.summary.below, shown_below)});
    }
    all.push_back({"furthest off", rows_table(validation, validation.summary.worst, shown_worst)});
    if (validation.summary.memory.rows > 0) {
        all.push_back(
            {"mean error of the predicted memory in %, by source", memory_table(validation.summary, "source")});
        all.push_back({"by what was counted", memory_table(validation.summary, "what")});
    }
    return all;
}

struct List {
    std::string title;
    std::vector<std::string> lines;
};

List reasons(std::string title, const std::vector<SkippedRows>& rows) {
    List list{std::move(title), {}};
    for (const SkippedRows& each : rows) {
        if (list.lines.size() == shown_reasons) {
            list.lines.push_back(fmt::format("and {} more reasons (--json has them)", rows.size() - shown_reasons));
            break;
        }
        const std::string place = each.first_line > 0 ? fmt::format(" from line {}", each.first_line) : "";
        list.lines.push_back(fmt::format("{}{}: {}", count_text(each.rows, "row"), place, each.reason));
    }
    return list;
}

/// Returns the lists of reasons that are not empty. Rows that merely lack a calibration are in a note if all do.
std::vector<List> lists(const Validation& validation) {
    std::vector<List> all;
    if (!validation.skipped.empty()) all.push_back(reasons("skipped", validation.skipped));
    const bool say_why =
        validation.summary.of_expected || std::any_of(validation.rows.begin(), validation.rows.end(),
                                                      [](const Comparison& row) { return !row.not_expected.empty(); });
    if (say_why && !validation.not_expected.empty()) {
        all.push_back(reasons("without an expected time", validation.not_expected));
    }
    return all;
}

}  // namespace

std::string validation_text(const Validation& validation) {
    std::string text = heading(validation) + "\n\n";
    for (const auto& [name, value] : answers(validation)) text += fmt::format("  {:<28}{}\n", name, value);
    if (!validation.rows.empty()) {
        for (const Section& section : sections(validation)) {
            text += "\n  " + section.title + "\n" + table_text(section.table, 2);
        }
    }
    for (const List& list : lists(validation)) {
        text += "\n  " + list.title + "\n";
        for (const std::string& line : list.lines) text += "  - " + wrapped(line, 4, 4, page_width) + "\n";
    }
    if (!validation.notes.empty()) text += "\n";
    for (const std::string& note : validation.notes) text += "  note: " + wrapped(note, 8, 8, page_width) + "\n";
    return text;
}

std::string validation_markdown(const Validation& validation) {
    std::string text = heading(validation) + "\n";
    for (const auto& [name, value] : answers(validation)) text += fmt::format("\n- {}: {}", name, value);
    text += "\n";
    if (!validation.rows.empty()) {
        for (const Section& section : sections(validation)) {
            text += fmt::format("\n{}:\n\n{}", section.title, table_markdown(section.table));
        }
    }
    for (const List& list : lists(validation)) {
        text += "\n" + list.title + ":\n";
        for (const std::string& line : list.lines) text += "\n- " + line;
        text += "\n";
    }
    for (const std::string& note : validation.notes) text += "\nnote: " + note + "\n";
    return text;
}

ReportPage validation_page(const Validation& validation) {
    PageWriter page;
    page.title(heading(validation));
    page.question("How close are the predictions to these measurements?");
    const ErrorSummary& summary = validation.summary;
    if (summary.error.rows > 0) {
        page.headline({"mean error", percent_text(summary.error.mean) + " %", "of the " + predicted_name(summary),
                       exact_number(summary.error.mean)});
        page.headline(
            {"median error", percent_text(summary.error.median) + " %", "", exact_number(summary.error.median)});
    }
    page.headline({"rows", grouped(static_cast<std::int64_t>(validation.rows.size())), validation.kind});
    page.section(PagePlace::answer, "Errors of the whole table");
    for (const auto& [name, value] : answers(validation)) page.fact(name, "", value);
    if (!validation.rows.empty()) {
        page.section(PagePlace::answer, "Predicted against measured");
        page.picture(validation_plot(validation));
        if (auto frontier = frontier_plot(validation)) {
            page.section(PagePlace::detail, "Frontier");
            page.picture(std::move(*frontier));
        }
        for (Section& section : sections(validation)) {
            page.section(PagePlace::detail, section.title);
            page.table(std::move(section.table));
        }
    }
    for (List& list : lists(validation)) {
        page.section(PagePlace::basis, list.title);
        page.list(std::move(list.lines));
    }
    for (const std::string& note : validation.notes) page.note(note);
    return page.take();
}

}  // namespace roofline::core
