#include "report/trace/step_comparison_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t most_unmatched = 8;

std::string seconds_or_dash(double seconds) { return seconds != 0 ? to_text(Seconds{seconds}) : "-"; }

std::string signed_seconds(double seconds, double least) {
    if (std::abs(seconds) <= least) return "-";
    return (seconds < 0 ? "-" : "+") + to_text(Seconds{std::abs(seconds)});
}

std::string runs_text(double runs) { return runs > 0 ? fmt::format("{:.6g}", runs) : "-"; }

std::string unmatched_text(std::string_view title, const std::vector<UnmatchedKernels>& list) {
    if (list.empty()) return "";
    std::string out = fmt::format("\n  {}\n", title);
    double rest = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const UnmatchedKernels& each = list[i];
        if (i >= most_unmatched) {
            rest += each.seconds;
            continue;
        }
        std::string what = each.what;
        if (each.runs > 0) what += fmt::format(", {:.6g} run{}", each.runs, each.runs == 1 ? "" : "s");
        if (!each.cause.empty()) what += ": " + each.cause;
        out += fmt::format("  {:>9}  {}\n", seconds_or_dash(each.seconds), wrapped(what, 13, 13, page_width));
    }
    if (list.size() > most_unmatched) {
        out += fmt::format("  {:>9}  {} more: all of them with --json\n", to_text(Seconds{rest}),
                           list.size() - most_unmatched);
    }
    return out;
}

nlohmann::ordered_json unmatched_json(const std::vector<UnmatchedKernels>& list) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const UnmatchedKernels& each : list) {
        all.push_back({{"what", each.what}, {"cause", each.cause}, {"runs", each.runs}, {"seconds", each.seconds}});
    }
    return all;
}

Table comparison_classes(const StepComparison& comparison) {
    Table table;
    table.head = {"class", "runs", "time", "in the plan", "expected", "not in the plan", "missing", "slower"};
    table.right.assign(table.head.size(), true);
    table.right.front() = false;
    ComparedClass sum;
    sum.kind = "all";
    const double least = 1e-6 * comparison.measured_s;
    const auto line = [&](const ComparedClass& of) {
        table.rows.push_back({of.kind, runs_text(of.runs), seconds_or_dash(of.measured_s), runs_text(of.planned_runs),
                              seconds_or_dash(of.planned_s), signed_seconds(of.extra_s, least),
                              signed_seconds(-of.missing_s, least), signed_seconds(of.slower_s(), least)});
    };
    for (const ComparedClass& of : comparison.classes) {
        line(of);
        sum.runs += of.runs;
        sum.measured_s += of.measured_s;
        sum.planned_runs += of.planned_runs;
        sum.planned_s += of.planned_s;
        sum.extra_s += of.extra_s;
        sum.missing_s += of.missing_s;
    }
    line(sum);
    return table;
}

}  // namespace

std::string step_comparison_text(const StepComparison& comparison) {
    std::string out;
    for (const auto& [name, times] : comparison.passes) {
        if (comparison.passes.size() == 1) break;
        out += fmt::format(
            "  {} of the {}\n",
            times > 0 ? fmt::format("{:.4g} run{}", times, times == 1 ? "" : "s") : std::string("no run"), name);
    }
    if (!out.empty()) out += '\n';
    out += table_text(comparison_classes(comparison), 2);
    out += unmatched_text("Not in the plan", comparison.extra);
    out += unmatched_text("In the plan but not recorded (expected times)", comparison.missing);
    out += unmatched_text("Recorded, but of unknown cost", comparison.unknown);
    if (!comparison.notes.empty()) out += '\n';
    for (const std::string& note : comparison.notes) out += "  note: " + wrapped(note, 8, 4, page_width) + "\n";
    return out;
}

void add_comparison(PageWriter& page, const StepComparison& comparison) {
    page.table(comparison_classes(comparison));
    const std::pair<const char*, const std::vector<UnmatchedKernels>*> lists[] = {
        {"Not in the plan", &comparison.extra},
        {"In the plan but not recorded (expected times)", &comparison.missing},
        {"Recorded, but of unknown cost", &comparison.unknown}};
    for (const auto& [title, list] : lists) {
        Table table{{"time", "runs", "what", "cause"}, {}, {true, true, false, false}};
        for (const UnmatchedKernels& each : *list) {
            TableRow row(table);
            row.number(seconds_or_dash(each.seconds), each.seconds, "s").number(runs_text(each.runs), each.runs);
            row.text(each.what).text(each.cause);
        }
        page.table(std::move(table), title);
    }
    for (const std::string& note : comparison.notes) page.note(note);
}

nlohmann::ordered_json step_comparison_json(const StepComparison& comparison) {
    nlohmann::ordered_json json{
        {"plan", comparison.job}, {"measured_s", comparison.measured_s}, {"planned_s", comparison.planned_s}};
    json["passes"] = nlohmann::ordered_json::array();
    for (const auto& [name, times] : comparison.passes) json["passes"].push_back({{"name", name}, {"runs", times}});
    json["by_kind"] = nlohmann::ordered_json::array();
    for (const ComparedClass& of : comparison.classes) {
        json["by_kind"].push_back({{"kind", of.kind},
                                   {"count", of.runs},
                                   {"measured_s", of.measured_s},
                                   {"planned_count", of.planned_runs},
                                   {"planned_s", of.planned_s},
                                   {"extra_s", of.extra_s},
                                   {"missing_s", of.missing_s},
                                   {"slower_s", of.slower_s()}});
    }
    json["extra"] = unmatched_json(comparison.extra);
    json["missing"] = unmatched_json(comparison.missing);
    json["unknown"] = unmatched_json(comparison.unknown);
    json["notes"] = comparison.notes;
    return json;
}

}  // namespace roofline::core
