#include "report/train/train_json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "report/source_json.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;

Json figure(std::optional<double> value) { return value && std::isfinite(*value) ? Json(*value) : Json(nullptr); }

Json name_or_null(const std::string& name) { return name.empty() ? Json(nullptr) : Json(name); }

Json plan_json(const TrainAnswer& answer) {
    Json json = Json::object();
    for (const auto& [name, degree] : plan_axes(answer.plan)) json[std::string(name)] = degree;
    json["zero"] = answer.plan.zero;
    json["microbatches"] = answer.batch ? Json(answer.batch->microbatches) : Json(nullptr);
    json["schedule"] = name_or_null(answer.schedule);
    json["remat"] = remat_text(answer.options);
    json["optimizer"] = optimizer_text(answer.options);
    json["products"] = answer.products ? Json(name(*answer.products)) : Json(nullptr);
    json["dispatch"] = answer.dispatch ? Json(name(*answer.dispatch)) : Json(nullptr);
    json["overlap"] = answer.overlapped;
    return json;
}

Json memory_json(const TrainAnswer& answer) {
    if (!answer.step) return nullptr;
    const TrainingMemory& memory = answer.step->memory;
    return {{"params", memory.params},           {"gradients", memory.gradients}, {"optimizer", memory.optimizer},
            {"activations", memory.activations}, {"working", memory.working},     {"total", memory.total()}};
}

Json step_json(const TrainAnswer& answer) {
    if (!answer.step) return nullptr;
    const StepTimes& times = answer.step->times;
    return {{"lower_s", figure(times.lower)},
            {"sequential_s", figure(times.sequential)},
            {"expected_s", figure(times.expected)},
            {"expected_error", figure(times.expected_error)},
            {"upper_s", figure(times.upper)},
            {"bubble", figure(times.bubble)},
            {"stage", name_or_null(answer.step->stage)},
            {"fullest_stage", name_or_null(answer.step->fullest)}};
}

Json times_json(const TrainAnswer& answer) {
    Json json = Json::object();
    if (!answer.step) return json;
    const Analysis& total = answer.step->program.analysis.total;
    for (std::size_t i = 0; total.seconds && i < total.pricing.resources.size(); ++i) {
        json[total.pricing.resources[i].id] = figure(total.least_seconds[i]);
    }
    return json;
}

Json collectives_json(const TrainAnswer& answer) {
    Json list = Json::array();
    if (!answer.step) return list;
    for (const StepCollective& each : step_collectives(*answer.step)) {
        list.push_back({{"kind", collective_name(each.kind)},
                        {"axes", each.axes},
                        {"count", figure(each.count)},
                        {"bytes", figure(each.bytes)},
                        {"time_s", figure(each.seconds)}});
    }
    return list;
}

Json thresholds_json(const TrainAnswer& answer) {
    Json json = Json::object();
    for (const PlanThreshold& each : answer.thresholds) {
        json[each.key] = {{"value", figure(each.value)}, {"now", figure(each.now)}};
    }
    return json;
}

Json sources_json(const TrainAnswer& answer) {
    std::set<std::string> seen;
    Json list = Json::array();
    if (!answer.step) return list;
    for (const Resource& resource : answer.step->program.analysis.total.pricing.resources) {
        for (const Term& term : resource.terms) {
            if (seen.insert(term.rate.path).second) list.push_back(source_json(term.rate));
        }
    }
    return list;
}

}  // namespace

std::string train_json(const TrainAnswer& answer) {
    const Resource* bound = answer.step ? answer.step->program.analysis.total.bound_resource() : nullptr;
    const bool given = answer.batch.has_value();
    Json json;
    json["schema"] = 1;
    json["model"] = answer.model.name;
    json["machine"] = slice_id(answer.slice);
    json["chips"] = answer.slice.chips();
    json["params"] = figure(answer.counts.total.params.to_double());
    json["flops_per_token"] = figure(answer.demand.flops_per_token);
    json["seq"] = answer.model.sequence;
    json["batch_tokens"] = given ? Json(answer.batch->tokens) : Json(nullptr);
    json["plan"] = plan_json(answer);
    json["memory_bytes"] = memory_json(answer);
    json["capacity_bytes"] = answer.step ? figure(answer.step->memory.capacity) : Json(nullptr);
    json["fits"] = answer.step && answer.step->memory.capacity ? Json(answer.step->memory.fits()) : Json(nullptr);
    json["step"] = step_json(answer);
    json["time_s"] = times_json(answer);
    json["bound_by"] = bound == nullptr ? Json(nullptr) : Json(bound->id);
    json["collectives"] = collectives_json(answer);
    json["step_s"] = figure(answer.step_s);
    json["mfu"] = figure(answer.mfu);
    json["tokens_per_s"] = figure(answer.tokens_per_s);
    json["tokens_per_s_per_chip"] = figure(tokens_per_s_per_chip(answer));
    json["tokens"] = answer.cost ? Json(answer.cost->tokens) : Json(nullptr);
    json["train_flops"] = answer.cost ? figure(answer.cost->flops) : Json(nullptr);
    json["train_s"] = answer.cost ? figure(answer.cost->seconds) : Json(nullptr);
    json["chip_hours"] = answer.cost ? figure(answer.cost->chip_hours) : Json(nullptr);
    json["usd"] = answer.cost ? figure(answer.cost->usd) : Json(nullptr);
    json["thresholds"] = thresholds_json(answer);
    json["plans"] = Json::array();
    json["searched"] = 0;
    json["search_s"] = nullptr;
    json["notes"] = answer.notes;
    json["sources"] = sources_json(answer);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace roofline::core
