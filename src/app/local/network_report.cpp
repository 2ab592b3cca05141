#include "app/local/network_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;

const CalibratedCollective* model_for(const MeasuredNetwork& network, CollectiveKind kind) {
    const auto found = std::find_if(network.models.begin(), network.models.end(),
                                    [&](const CalibratedCollective& fitted) { return fitted.key.kind == kind; });
    return found == network.models.end() ? nullptr : &*found;
}

std::size_t disturbed(const NetworkTiming& timing) {
    return static_cast<std::size_t>(std::count_if(timing.timed.begin(), timing.timed.end(),
                                                  [](const TimedExchange& each) { return each.spread.disturbed; }));
}

// The rows of one operation over a number of ranks, sorted by size.
struct RowsOfOperation {
    std::vector<std::size_t> rows;
};

Table summary(const NetworkReport& report) {
    const std::vector<TimedExchange>& timed = report.timing.timed;
    Table table{{"operation", "ranks", "smallest", "", "largest", "", "best rate", "model error", "held-out error"},
                {},
                {false, true, true, true, true, true, true, true, true}};
    std::map<std::pair<int, CollectiveKind>, RowsOfOperation> all;
    for (std::size_t i = 0; i < timed.size(); ++i) all[{timed[i].members, timed[i].kind}].rows.push_back(i);
    for (const auto& [key, series] : all) {
        const TimedExchange& least = timed[series.rows.front()];
        const TimedExchange& most = timed[series.rows.back()];
        double best = 0;
        for (const std::size_t row : series.rows) best = std::max(best, report.network.rates[row]);
        const CalibratedCollective* fitted = model_for(report.network, key.second);
        const auto bytes = [](const TimedExchange& each) { return to_text(Bytes{static_cast<double>(each.bytes)}); };
        table.rows.push_back({std::string(collective_name(key.second, true)), std::to_string(key.first), bytes(least),
                              to_text(Seconds{least.spread.median}), bytes(most), to_text(Seconds{most.spread.median}),
                              to_text(Bandwidth{best}),
                              fitted == nullptr ? "-" : percent_text(fitted->errors.fitted) + " %",
                              fitted == nullptr ? "-" : percent_text(fitted->errors.sizes) + " %"});
    }
    return table;
}

std::string network_json(const NetworkReport& report) {
    Json rows = Json::array();
    for (std::size_t i = 0; i < report.timing.timed.size(); ++i) {
        const TimedExchange& each = report.timing.timed[i];
        rows.push_back({{"kind", collective_name(each.kind)},
                        {"members", each.members},
                        {"groups", each.groups},
                        {"bytes", each.bytes},
                        {"time_s", each.spread.median},
                        {"p5_s", each.spread.p5},
                        {"p95_s", each.spread.p95},
                        {"disturbed", each.spread.disturbed},
                        {"bytes_per_s", report.network.rates[i]}});
    }
    Json fitted_models = Json::array();
    for (const CalibratedCollective& fitted : report.network.models) {
        fitted_models.push_back({{"kind", collective_name(fitted.key.kind)},
                                 {"rows", fitted.rows},
                                 {"error_fitted", fitted.errors.fitted},
                                 {"error_sizes", fitted.errors.sizes}});
    }
    const NetworkTier& tier = report.network.tier();
    Json json{{"schema", 1},
              {"ranks", report.timing.ranks},
              {"hosts", report.timing.hosts},
              {"library", report.timing.library},
              {"tier", tier.id},
              {"bytes_per_s", tier.chip_bandwidth.value->value},
              {"latency_s", tier.hop_latency.value->value},
              {"rows", std::move(rows)},
              {"laws", std::move(fitted_models)},
              {"notes", report.notes},
              {"files", report.files}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string network_report(const NetworkReport& report, Format format) {
    if (format == Format::json) return network_json(report);
    const NetworkTiming& timing = report.timing;
    if (format == Format::csv) return exchange_table(timing.timed, report.system, software_name(timing.library));
    const NetworkTier& tier = report.network.tier();
    std::string text = fmt::format("{} ranks on {} host{}, {}\n\n", timing.ranks, timing.hosts,
                                   timing.hosts == 1 ? "" : "s", timing.library);
    text += format == Format::markdown ? table_markdown(summary(report)) : table_text(summary(report), 2);
    text +=
        fmt::format("\n{}: at most {} in and out of each rank ({}), latency at least {}\n", tier.label,
                    to_text(*tier.chip_bandwidth.value), tier.chip_bandwidth.note, to_text(*tier.hop_latency.value));
    if (const std::size_t count = disturbed(timing); count > 0) {
        text += fmt::format("note: {} of {} timings were disturbed by other processes on this machine\n", count,
                            timing.timed.size());
    }
    for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
    for (const std::string& file : report.files) text += fmt::format("written: {}\n", file);
    return text;
}

}  // namespace roofline::core
