#include "report/serve_plan/serving_plan_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/emitted_json.hpp"
#include "report/figure.hpp"
#include "report/plan_json.hpp"
#include "report/serve/serve_figures.hpp"
#include "report/serve_plan/serving_plan_words.hpp"

namespace roofline::core {

namespace {

using Json = FigureValue;

Json served_dtype_json(const std::optional<Dtype>& dtype) { return dtype ? Json(name(*dtype)) : Json(); }

Json times_json(const TimeSpread& times) {
    return {{"mean", times.mean}, {"p50", times.p50}, {"p90", times.p90}, {"p99", times.p99}};
}

Json servers_json(const Slice& slice, const Plan& plan, std::int64_t workers) {
    Json json = Json::object();
    json["workers"] = workers;
    json["chips"] = slice.chips();
    json["slice"] = slice.shape_text();
    json["plan"] = plan_json(plan);
    return json;
}

Json set_up_json(const ServingPlan& plan) {
    const ServingSetUp& set_up = plan.set_up;
    Json json = Json::object();
    json["set_up"] = set_up_text(set_up);
    json["chips"] = set_up.chips();
    json["decode"] = servers_json(set_up.slice, set_up.plan, set_up.workers);
    json["prefill"] =
        set_up.prefill ? servers_json(set_up.prefill->slice, set_up.prefill->plan, set_up.prefill->workers) : Json();
    json["weights"] = served_dtype_json(set_up.form.weights);
    json["kv_dtype"] = served_dtype_json(set_up.form.kv_dtype);
    json["chunk"] = set_up.form.chunk;
    json["concurrency"] = set_up.concurrency();
    json["batch"] = set_up.batch;
    json["tokens_per_s"] = plan.rates.tokens_per_s;
    json["tokens_per_s_per_chip"] = plan.tokens_per_s_per_chip();
    json["tokens_per_s_per_user"] = plan.rates.user_tokens_per_s();
    json["requests_per_s"] = plan.rates.requests_per_s;
    json["ttft_s"] = times_json(plan.rates.ttft);
    json["tpot_s"] = times_json(plan.rates.tpot);
    json["usd_per_million_tokens"] = figure_value(plan.usd_per_million);
    json["memory_bytes_per_chip"] = plan.memory_bytes;
    return json;
}

Json set_ups_json(const std::vector<ServingPlan>& plans) {
    Json list = Json::array();
    for (const ServingPlan& each : plans) list.push_back(set_up_json(each));
    return list;
}

Json report_json(const ServingPlanReport& report) {
    const ServingSearchAnswer& answer = report.answer;
    const ServingCounts& counts = answer.counts;
    Json json = Json::object();
    json["schema"] = 1;
    json["on"] = report.name;
    const Json served = json_of(serve_figures(), answer.served);
    json["best"] = answer.meets ? served : Json();
    json["nearest"] = answer.meets ? Json() : served;
    json["set_up"] = set_up_json(answer.best);
    json["replicas"] = answer.replicas;
    json["rate_of_each"] = answer.rate_of_each > 0 ? Json(answer.rate_of_each) : Json();
    json["for"] = objective_name(report.search.objective);
    json["targets"] = {{"ttft_s", figure_value(report.search.targets.ttft_s)},
                       {"tpot_s", figure_value(report.search.targets.tpot_s)},
                       {"percentile", statistic_name(report.search.statistic)}};
    json["expected"] = answer.expected;
    json["plans"] = set_ups_json(answer.plans);
    for (std::size_t i = 0; i < answer.plans.size(); ++i) {
        json["plans"][i]["certainty"] =
            i > 0 ? figure_value(certainty(report.search, answer, answer.plans[i])) : Json();
    }
    json["frontier"] = set_ups_json(answer.frontier);
    json["searched"] = counts.searched;
    json["priced"] = counts.priced;
    json["rejected"] = {{"divides", counts.divides},
                        {"memory", counts.memory},
                        {"target", counts.target},
                        {"slower", counts.slower},
                        {"failed", counts.failed}};
    json["search_s"] = figure_value(report.search_s);
    json["elasticities"] = Json::array();
    for (const Elasticity& each : answer.changes.elasticities) {
        json["elasticities"].push_back({{"path", each.path}, {"value", each.value}});
    }
    json["flips"] = Json::array();
    for (const ServingFlip& each : answer.changes.flips) {
        json["flips"].push_back({{"path", each.path},
                                 {"at", each.at},
                                 {"factor", each.factor},
                                 {"set_up", set_up_text(each.other.set_up)}});
    }
    json["next"] = Json::array();
    for (const BetterServing& each : answer.next) {
        json["next"].push_back({{"needs", needs_text(each)},
                                {"ttft_s", figure_value(each.ttft_s)},
                                {"tpot_s", figure_value(each.tpot_s)},
                                {"set_up", set_up_text(each.plan.set_up)},
                                {"concurrency", each.plan.set_up.concurrency()},
                                {"gain", each.gain}});
    }
    json["part"] = Json();
    json["command"] = fmt::format("{}", fmt::join(report.command, " "));
    json["notes"] = answer.notes;
    if (report.emitted) json["emitted"] = emitted_json(report.emitted);
    return json;
}

}  // namespace

std::string serving_plan_json(const std::vector<ServingPlanReport>& reports, const std::vector<Error>& errors) {
    if (reports.size() == 1 && errors.empty()) return dumped(report_json(reports.front())) + "\n";
    Json json = Json::object();
    json["schema"] = 1;
    json["machines"] = Json::array();
    for (const ServingPlanReport& each : reports) json["machines"].push_back(report_json(each));
    json["errors"] = Json::array();
    for (const Error& each : errors) {
        json["errors"].push_back({{"code", each.code}, {"message", each.message}, {"hint", each.hint}});
    }
    return dumped(json) + "\n";
}

}  // namespace roofline::core
