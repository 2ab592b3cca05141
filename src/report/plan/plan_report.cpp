#include "report/plan/plan_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "report/emitted_json.hpp"
#include "report/figure.hpp"
#include "report/plan/plan_words.hpp"
#include "report/train/train_figures.hpp"
#include "report/train/train_words.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Json = FigureValue;

Json train_object(const TrainAnswer& answer) { return json_of(train_figures(), answer); }

Json rejected_json(const PlanCounts& counts) {
    return {{"divides", counts.divides},
            {"memory", counts.memory},
            {"bound", counts.bound},
            {"limit", counts.limit},
            {"unsuited", counts.unsuited}};
}

Json exceeded_json(const PlanJobAnswer& job) {
    Json list = Json::array();
    constexpr double day_s = 86400;
    for (const ExceededLimit& each : job.exceeded) {
        const bool days = each.limit == PlanLimit::days;
        list.push_back({{"limit", days                             ? "days"
                                  : each.limit == PlanLimit::usd   ? "usd"
                                  : each.limit == PlanLimit::power ? "power_w"
                                                                   : "chips"},
                        {"value", days ? each.value / day_s : each.value},
                        {"allowed", days ? each.allowed / day_s : each.allowed}});
    }
    return list;
}

Json values_json(const PlanValues& values) {
    return {{"seconds", values.seconds},
            {"usd", figure_value(values.usd)},
            {"energy_j", figure_value(values.joules)},
            {"power_w", figure_value(values.watts)}};
}

// The slice, the batch and the sequence of a job.
Json job_object(const PlanJobAnswer& job) {
    return {{"machine", job.slice},
            {"chips", job.chips},
            {"batch_tokens", job.batch_tokens},
            {"seq", job.sequence},
            {"products", job.products ? Json(name(*job.products)) : Json()},
            {"optimizer", optimizer_text(job.options)}};
}

Json jobs_json(const PlanJobsAnswer& answer) {
    Json list = Json::array();
    for (const PlanJobAnswer& job : answer.jobs) {
        Json each = job_object(job);
        each["searched"] = job.counts.looked_at;
        each["priced"] = job.counts.priced;
        each["rejected"] = rejected_json(job.counts);
        each["best"] = job.best ? brief_plan(*job.best) : Json();
        each["values"] = job.values ? values_json(*job.values) : Json();
        each["exceeded"] = exceeded_json(job);
        each["refused"] = job.refused ? Json(job.refused->message) : Json();
        list.push_back(std::move(each));
    }
    return list;
}

Json frontier_json(const PlanJobsAnswer& answer) {
    Json list = Json::array();
    for (const FrontPlan& plan : answer.front) {
        Json each = job_object(answer.jobs[plan.job]);
        each["values"] = values_json(plan.values);
        each.update(brief_plan(plan.answer));
        list.push_back(std::move(each));
    }
    return list;
}

Json limits_json(const PlanLimits& limits) {
    constexpr double day_s = 86400;
    return {{"days", limits.seconds ? Json(*limits.seconds / day_s) : Json()},
            {"usd", figure_value(limits.usd)},
            {"power_w", figure_value(limits.watts)},
            {"chips", figure_value(limits.chips)}};
}

}  // namespace

std::string plan_json(const PlanJobsAnswer& whole, std::optional<double> search_s) {
    const PlanAnswer& answer = whole.plan;
    Json json = Json::object();
    json["schema"] = 1;
    json["best"] = whole.within() ? train_object(answer.best) : Json();
    json["nearest"] = whole.within() ? Json() : train_object(answer.best);
    json["for"] = name(whole.objective);
    json["values_of"] = whole.basis == PlanBasis::run    ? "run"
                        : whole.basis == PlanBasis::step ? "step"
                                                         : "million tokens";
    json["limits"] = limits_json(whole.limits);
    json["exceeded"] = exceeded_json(whole.jobs[whole.chosen]);
    json["plans"] = Json::array();
    for (const PlanBeside& each : answer.plans) {
        json["plans"].push_back(brief_plan(each.answer));
        json["plans"].back()["sure"] = figure_value(each.sure);
    }
    json["jobs"] = jobs_json(whole);
    json["front_of"] = whole.front_of ? Json({name(whole.front_of->first), name(whole.front_of->second)}) : Json();
    json["frontier"] = frontier_json(whole);
    json["searched"] = whole.counts.looked_at;
    json["priced"] = whole.counts.priced;
    json["rejected"] = rejected_json(whole.counts);
    json["unsearched"] = answer.counted ? Json(whole.counts.unsearched) : Json();
    json["stopped"] = whole.stopped ? Json("interrupt") : whole.counts.unsearched > 0 ? Json("limit") : Json();
    json["search_s"] = figure_value(search_s);
    json["elasticities"] = Json::array();
    for (const Elasticity& each : answer.changes.elasticities) {
        json["elasticities"].push_back({{"path", each.path}, {"value", each.value}});
    }
    json["flips"] = Json::array();
    for (const Flip& flip : answer.changes.flips) {
        json["flips"].push_back(
            {{"path", flip.path}, {"at", flip.at}, {"factor", flip.factor}, {"plan", whole_text(flip.other)}});
    }
    json["next"] = Json::array();
    for (const LargerPlan& each : answer.larger) {
        json["next"].push_back({{"needs", fmt::format("hbm.capacity=+{}", to_text(Bytes{each.bytes}))},
                                {"bytes", each.bytes},
                                {"plan", whole_text(each.answer)},
                                {"gain", each.gain}});
    }
    if (answer.best.emitted) json["emitted"] = emitted_json(answer.best.emitted);
    json["part"] = Json();
    json["command"] = optional_string(fmt::format("{}", fmt::join(whole.command, " ")));
    json["notes"] = answer.notes;
    for (const std::string& note : whole.notes) json["notes"].push_back(note);
    return dumped(json) + "\n";
}

Table plan_table(const PlanJobsAnswer& answer) {
    std::vector<TrainAnswer> plans;
    std::vector<PlanValues> values;
    const auto add = [&](const TrainAnswer& plan, const std::optional<PlanValues>& known) {
        plans.push_back(plan);
        values.push_back(known.value_or(PlanValues{}));
    };
    if (answer.front_of) {
        for (const FrontPlan& each : answer.front) add(each.answer, each.values);
    } else if (answer.jobs.size() > 1) {
        for (const PlanJobAnswer& job : answer.jobs) {
            if (job.best) add(*job.best, job.values);
        }
    } else {
        for (const PlanBeside& each : answer.plan.plans) add(each.answer, values_of(each.answer, answer.basis));
    }
    if (plans.empty()) add(answer.plan.best, std::nullopt);
    Table table = train_table(plans);
    const auto number = [](const std::optional<double>& value) { return value ? exact_text(*value) : std::string(); };
    for (const std::string_view head : {"power_w", "energy_j"}) {
        table.head.emplace_back(head);
        table.right.push_back(true);
    }
    for (std::size_t i = 0; i < plans.size(); ++i) {
        table.rows[i].push_back(number(values[i].watts));
        table.rows[i].push_back(number(values[i].joules));
    }
    return table;
}

}  // namespace roofline::core
