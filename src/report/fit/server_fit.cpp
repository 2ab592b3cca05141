#include "report/fit/server_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "report/fit/left_out.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;

/// Times are in adaptive units for people (`spoken`) and in seconds for programs.
Table table_of(const ServerModels& server_models, bool spoken) {
    Table table;
    table.head =
        spoken ? std::vector<std::string>{"software", "rows",   "models", "platform", "kernels",        "step",
                                          "sequence", "launch", "wait",   "fitted",   "model held out", "TTFT held out"}
               : std::vector<std::string>{"software",   "rows",         "models",         "platform",
                                          "kernels",    "step_s",       "sequence_s",     "launch_s",
                                          "wait_steps", "error_fitted", "error_held_out", "ttft_error_held_out"};
    table.right = {false, true, true, false, true, true, true, true, true, true, true, true};
    const auto seconds = [&](double s) { return spoken ? to_text(Seconds{s}) : fmt::format("{:.4g}", s); };
    const auto error = [&](double e) { return spoken ? percent_text(e) : fmt::format("{:.3g}", e); };
    for (const CalibratedServer& each : server_models.servers) {
        table.rows.push_back({each.software, fmt::format("{}", each.rows), fmt::format("{}", each.models.size()),
                              each.platform, fmt::format("{:.4g}", each.costs.kernels), seconds(each.costs.step_s),
                              seconds(each.costs.sequence_s), seconds(each.costs.launch_s),
                              fmt::format("{:.4g}", each.costs.wait_steps), error(each.error_fitted),
                              error(each.error_held_out), error(each.ttft_error_held_out)});
    }
    return table;
}

std::string json_of(const ServersFit& report) {
    Json servers = Json::array();
    for (const CalibratedServer& each : report.models.servers) {
        servers.push_back({{"software", each.software},
                           {"platform", each.platform},
                           {"rows", each.rows},
                           {"models", each.models},
                           {"machines", each.machines},
                           {"kernels", each.costs.kernels},
                           {"step_s", each.costs.step_s},
                           {"sequence_s", each.costs.sequence_s},
                           {"launch_s", each.costs.launch_s},
                           {"wait_steps", each.costs.wait_steps},
                           {"error_fitted", each.error_fitted},
                           {"error_held_out", each.error_held_out},
                           {"ttft_error_held_out", each.ttft_error_held_out}});
    }
    Json elsewhere = Json::array();
    for (const ServerElsewhere& each : report.models.elsewhere) {
        elsewhere.push_back({{"software", each.software},
                             {"platform", each.platform},
                             {"rows", each.rows},
                             {"models", each.models},
                             {"error", each.errors.tpot},
                             {"ttft_error", each.errors.ttft}});
    }
    return Json{{"schema", 1},
                {"servers", servers},
                {"elsewhere", elsewhere},
                {"skipped", left_out_json(report.skipped)},
                {"file", report.file}}
               .dump() +
           "\n";
}

std::string text_of(const ServersFit& report) {
    std::string text;
    for (const CalibratedServer& each : report.models.servers) {
        text += fmt::format("{}: {} rows of {}\n", each.software, each.rows, fmt::join(each.models, ", "));
    }
    for (const ServerElsewhere& each : report.models.elsewhere) {
        text += fmt::format("{} on {}: {} measurements of {}, mean error of TPOT {} % with the parameters above\n",
                            each.software, each.platform, each.rows, fmt::join(each.models, ", "),
                            percent_text(each.errors.tpot));
    }
    if (report.models.servers.empty())
        text += "no model: a server needs at least eight measurements with expected times\n";
    if (!report.models.servers.empty()) text += "\n" + table_text(table_of(report.models, true), 2);
    return text + left_out_text(report.skipped, report.file);
}

}  // namespace

std::string server_fit_report(const ServersFit& report, Format format) {
    switch (format) {
        case Format::json:
            return json_of(report);
        case Format::csv:
            return table_csv(table_of(report.models, false));
        case Format::markdown:
            return table_markdown(table_of(report.models, true));
        case Format::text:
            break;
    }
    return text_of(report);
}

}  // namespace roofline::core
