#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "app/local/run_points.hpp"
#include "app/local/run_ranks.hpp"
#include "report/op/op_cells.hpp"
#include "report/run/spread_json.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;

Json or_null(std::optional<double> value) { return value ? Json(*value) : Json(); }

// Returns the ratio of a lower bound to a time, in percent.
std::string share(std::optional<double> lower, double measured) {
    return lower && measured > 0 ? percent_text(*lower / measured) + " %" : "";
}

Table stage_table(const RankRun& run, bool exact) {
    Table table;
    table.right = {false, true, true, true, true};
    table.head = {"what", exact ? "measured_s" : "measured", exact ? "lower_s" : "lower",
                  exact ? "expected_s" : "expected", exact ? "roofline_fraction" : "of lower"};
    const auto add = [&](std::string what, double measured, std::optional<double> lower,
                         std::optional<double> expected) {
        std::string fraction = share(lower, measured);
        if (exact) fraction = raw(lower && measured > 0 ? std::optional(*lower / measured) : std::nullopt);
        table.rows.push_back({std::move(what), cell<Seconds>(exact, measured), cell<Seconds>(exact, lower),
                              cell<Seconds>(exact, expected), std::move(fraction)});
    };
    for (const RankStage& stage : run.stages) {
        add(stage.measured.text, stage.measured.seconds, stage.lower_s, stage.expected_s);
    }
    const Analysis& total = run.predicted.analysis.total;
    add("sequential", run.sequential.median, total.exposed ? total.exposed : total.sequential,
        run.predicted.expected_s);
    add("sequential, hot", run.hot.median, std::nullopt, std::nullopt);
    if (run.overlapped) {
        add(fmt::format("overlapped, in {} pieces", run.pieces), run.overlapped->median, total.bounds.lower,
            std::nullopt);
    }
    return table;
}

std::string verdict(const RankRun& run) {
    if (run.check.checked == 0) return "not checked: one element alone takes too long";
    if (run.right) {
        return fmt::format("right: {} elements, largest error {:.2g} of the largest element", run.check.checked,
                           run.check.max_rel_error);
    }
    return fmt::format("WRONG: {}", run.check.worst);
}

Json run_json(const RankRun& run) {
    const Analysis& total = run.predicted.analysis.total;
    Json stages = Json::array();
    for (const RankStage& stage : run.stages) {
        stages.push_back({{"text", stage.measured.text},
                          {"exchange", stage.measured.exchange},
                          {"measured_s", stage.measured.seconds},
                          {"lower_s", or_null(stage.lower_s)},
                          {"expected_s", or_null(stage.expected_s)}});
    }
    return {{"measured_s", run.sequential.median},
            {"measured_spread", spread_json(timed_run(run.sequential))},
            {"hot_s", run.hot.median},
            {"hot_spread", spread_json(timed_run(run.hot))},
            {"sets", {{"count", run.sets}, {"bytes", run.set_bytes}}},
            {"overlapped_s", run.overlapped ? Json(run.overlapped->median) : Json()},
            {"overlapped_spread", run.overlapped ? spread_json(timed_run(*run.overlapped)) : Json()},
            {"lower_s", total.bounds.lower},
            {"sequential_s", total.sequential},
            {"exposed_s", or_null(total.exposed)},
            {"upper_s", total.bounds.upper},
            {"expected_s", or_null(run.predicted.expected_s)},
            {"check",
             {{"max_rel_error", run.check.max_rel_error},
              {"of_bound", run.check.of_bound},
              {"elements", run.check.checked},
              {"right", run.right},
              {"worst", run.check.worst}}},
            {"stages", std::move(stages)}};
}

std::string rank_json(const RankAnswer& answer) {
    Json json{{"schema", 1},
              {"machine", answer.runs.front().predicted.machine.id},
              {"ranks", answer.ranks},
              {"library", answer.library}};
    if (answer.axes.empty()) {
        json.update(run_json(answer.runs.front()));
    } else {
        Json points = Json::array();
        for (const RankRun& run : answer.runs) {
            Json dims;
            for (std::size_t axis = 0; axis < answer.axes.size(); ++axis) {
                for (const std::string& dim : answer.axes[axis].dims) dims[dim] = run.at[axis];
            }
            Json point{{"dims", std::move(dims)}};
            point.update(run_json(run));
            points.push_back(std::move(point));
        }
        json["sweep"] = std::move(points);
    }
    json["notes"] = answer.notes;
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Returns a table with the times of computation alone, of communication alone, and of both, sequential and overlapped.
Table sweep_table(const RankAnswer& answer, bool exact) {
    Table table;
    for (const SweepAxis& axis : answer.axes) {
        table.head.insert(table.head.end(), axis.dims.begin(), axis.dims.end());
    }
    const auto column = [&](std::string_view label, std::string_view name) {
        table.head.emplace_back(exact ? name : label);
    };
    column("work", "work_s");
    column("lower", "work_lower_s");
    column("expected", "work_expected_s");
    column("exchange", "exchange_s");
    column("lower", "exchange_lower_s");
    column("expected", "exchange_expected_s");
    column("in turn", "measured_s");
    column("lower", "exposed_s");
    column("expected", "expected_s");
    column("overlapped", "overlapped_s");
    column("lower", "lower_s");
    column("check", "right");
    table.right.assign(table.head.size(), true);
    for (const RankRun& run : answer.runs) {
        const Analysis& total = run.predicted.analysis.total;
        std::vector<std::string> row;
        for (std::size_t axis = 0; axis < answer.axes.size(); ++axis) {
            row.insert(row.end(), answer.axes[axis].dims.size(), std::to_string(run.at[axis]));
        }
        for (const bool exchange : {false, true}) {
            const RankRun::Part part = run.part(exchange);
            row.push_back(cell<Seconds>(exact, part.measured_s));
            row.push_back(cell<Seconds>(exact, part.lower_s));
            row.push_back(cell<Seconds>(exact, part.expected_s));
        }
        row.push_back(cell<Seconds>(exact, run.sequential.median));
        row.push_back(cell<Seconds>(exact, total.exposed ? total.exposed : total.sequential));
        row.push_back(cell<Seconds>(exact, run.predicted.expected_s));
        row.push_back(cell<Seconds>(exact, run.overlapped ? std::optional(run.overlapped->median) : std::nullopt));
        row.push_back(cell<Seconds>(exact, total.bounds.lower));
        row.emplace_back(run.check.checked == 0 ? (exact ? "" : "-")
                         : exact                ? (run.right ? "true" : "false")
                                                : (run.right ? "right" : "WRONG"));
        table.rows.push_back(std::move(row));
    }
    return table;
}

// Returns which of both takes longer: "communication takes longer up to D = 512, computation from 1024 on".
std::string longer_text(const RankAnswer& answer, const std::function<bool(const RankRun&)>& work_is_longer) {
    const std::vector<RankRun>& runs = answer.runs;
    const auto first = std::find_if(runs.begin(), runs.end(), work_is_longer);
    if (first == runs.end()) return "communication takes longer than computation everywhere";
    if (!std::all_of(first, runs.end(), work_is_longer))
        return "sometimes communication takes longer, sometimes computation";
    if (first == runs.begin()) return "computation takes longer than communication everywhere";
    return fmt::format("communication takes longer up to {} = {}, computation from {} on", answer.axes.front().name(),
                       std::prev(first)->at.front(), first->at.front());
}

// Returns up to which size communication takes longer than computation, as measured and as predicted; "" unless exactly
// one axis is swept and all times are known.
std::string crossing_text(const RankAnswer& answer) {
    const bool all = std::all_of(answer.runs.begin(), answer.runs.end(), [](const RankRun& run) {
        return run.part(true).measured_s > 0 && run.part(true).lower_s && run.part(false).lower_s;
    });
    if (grid_axes(answer.axes).size() != 1 || !all) return "";
    const auto measured = [](const RankRun& run) { return run.part(false).measured_s > run.part(true).measured_s; };
    const auto predicted = [](const RankRun& run) { return *run.part(false).lower_s > *run.part(true).lower_s; };
    const auto expected = [](const RankRun& run) { return *run.part(false).expected_s > *run.part(true).expected_s; };
    const bool models = std::all_of(answer.runs.begin(), answer.runs.end(), [](const RankRun& run) {
        return run.part(true).expected_s && run.part(false).expected_s;
    });
    return fmt::format("\n  measured: {}\n{}  by lower bounds: {}\n", longer_text(answer, measured),
                       models ? fmt::format("  by expected times: {}\n", longer_text(answer, expected)) : "",
                       longer_text(answer, predicted));
}

std::string text_of(const RankAnswer& answer) {
    std::string text = fmt::format("{} ranks, {}; each {}\n", answer.ranks, answer.library, answer.device);
    if (answer.axes.empty()) {
        text += fmt::format("{}\n\n", verdict(answer.runs.front())) +
                table_text(stage_table(answer.runs.front(), false), 2);
    } else {
        text += "\n" + table_text(sweep_table(answer, false), 2) + crossing_text(answer);
        for (const RankRun& run : answer.runs) {
            if (!run.right && run.check.checked > 0) text += fmt::format("  {}\n", verdict(run));
        }
    }
    const bool busy = std::any_of(answer.runs.begin(), answer.runs.end(),
                                  [](const RankRun& run) { return run.sequential.disturbed; });
    if (busy) text += "\nnote: the machine was busy: these times are not reliable\n";
    const auto in_caches =
        std::find_if(answer.runs.begin(), answer.runs.end(), [](const RankRun& run) { return !run.beyond_caches; });
    if (in_caches != answer.runs.end()) {
        text += fmt::format(
            "note: the copies of a rank's arrays take {} of memory, less than four times the last-level cache: some "
            "may be "
            "read from there\n",
            to_text(Bytes{static_cast<double>(in_caches->sets) * in_caches->set_bytes}));
    }
    const bool overlap_gains_nothing = std::any_of(answer.runs.begin(), answer.runs.end(), [](const RankRun& run) {
        return run.overlapped && run.overlapped->median > 0.95 * run.sequential.median;
    });
    if (answer.threads == 1 && overlap_gains_nothing) {
        text +=
            "note: each rank has one core, which runs both communication and computation, so overlapping them gains "
            "nothing "
            "there\n";
    }
    for (const std::string& note : answer.notes) text += fmt::format("note: {}\n", note);
    return text;
}

}  // namespace

std::string rank_report(const RankAnswer& answer, Format format) {
    if (format == Format::json) return rank_json(answer);
    if (format == Format::text) return text_of(answer);
    const bool exact = format == Format::csv;
    const Table table = answer.axes.empty() ? stage_table(answer.runs.front(), exact) : sweep_table(answer, exact);
    return render(table, format);
}

}  // namespace roofline::core
