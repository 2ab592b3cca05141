#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/local/run_points.hpp"
#include "app/local/run_ranks.hpp"
#include "report/run/spread_json.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline {

namespace {

using Json = nlohmann::ordered_json;

std::string seconds(std::optional<double> value) { return value ? to_text(Seconds{*value}) : "-"; }

Json or_null(std::optional<double> value) { return value ? Json(*value) : Json(); }

// What a bound is of a time, in percent.
std::string share(std::optional<double> lower, double measured) {
    return lower && measured > 0 ? percent_text(*lower / measured) + " %" : "-";
}

Table stage_table(const RankRun& run) {
    Table table{{"what", "measured", "lower", "expected", "of lower"}, {}, {false, true, true, true, true}};
    for (const RankStage& stage : run.stages) {
        const double measured = stage.measured.seconds;
        table.rows.push_back({stage.measured.text, seconds(measured), seconds(stage.lower_s), seconds(stage.expected_s),
                              share(stage.lower_s, measured)});
    }
    const Analysis& total = run.predicted.analysis.total;
    const std::optional<double> waiting = total.exposed ? total.exposed : total.sequential;
    table.rows.push_back({"one after the other", seconds(run.sequential.median), seconds(waiting),
                          seconds(run.predicted.expected_s), share(waiting, run.sequential.median)});
    if (run.overlapped) {
        table.rows.push_back({fmt::format("overlapped, in {} pieces", run.pieces), seconds(run.overlapped->median),
                              seconds(total.bounds.lower), "", share(total.bounds.lower, run.overlapped->median)});
    }
    return table;
}

std::string verdict(const RankRun& run) {
    if (run.check.checked == 0) return "not checked: one element alone takes too long";
    if (run.right) {
        return fmt::format("right: {} elements, none further off than {:.2g} of the largest", run.check.checked,
                           run.check.max_rel_error);
    }
    return fmt::format("WRONG: {}", run.check.worst);
}

std::string rank_json(const RankRun& run) {
    const Analysis& total = run.predicted.analysis.total;
    Json stages = Json::array();
    for (const RankStage& stage : run.stages) {
        stages.push_back({{"text", stage.measured.text},
                          {"exchange", stage.measured.exchange},
                          {"measured_s", stage.measured.seconds},
                          {"lower_s", or_null(stage.lower_s)},
                          {"expected_s", or_null(stage.expected_s)}});
    }
    Json json{{"schema", 1},
              {"machine", run.predicted.machine.id},
              {"ranks", run.ranks},
              {"library", run.library},
              {"measured_s", run.sequential.median},
              {"measured_spread", spread_json(timed_run(run.sequential))},
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
              {"stages", std::move(stages)},
              {"notes", run.notes}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string rank_report(const RankRun& run, Format format) {
    if (format == Format::json) return rank_json(run);
    if (format == Format::csv) return table_csv(stage_table(run));
    if (format == Format::markdown) return table_markdown(stage_table(run));
    std::string text = fmt::format("{} ranks, {}; each {}\n{}\n\n", run.ranks, run.library, run.device, verdict(run));
    text += table_text(stage_table(run), 2);
    if (run.sequential.disturbed) text += "\nnote: the machine was busy: these times are not to be trusted\n";
    for (const std::string& note : run.notes) text += fmt::format("note: {}\n", note);
    return text;
}

}  // namespace roofline
