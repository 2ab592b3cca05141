#include "report/hlo/hlo_json.hpp"

#include <nlohmann/json.hpp>

#include "report/source_json.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json();
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json op_json(const ModuleOp& op) {
    return {{"name", op.name},
            {"opcode", op.opcode},
            {"count", op.count},
            {"flops", op.flops},
            {"matmul_flops", op.matmul_flops},
            {"transcendentals", op.transcendentals},
            {"bytes", op.bytes},
            {"intensity", op.bytes > 0 ? Json(op.flops / op.bytes) : Json()},
            {"lower_s", or_null(op.lower_s)},
            {"expected_s", or_null(op.expected_s)},
            {"floor_s", or_null(op.floor_s)},
            {"hidden_s", op.hidden_s},
            {"measured_s", or_null(op.measured_s)},
            {"bound_by", text_or_null(op.bound_by)},
            {"source", text_or_null(op.source)},
            {"scope", text_or_null(op.scope)},
            {"recomputed", op.recomputed},
            {"unmeasured", op.unmeasured}};
}

Json group_json(const ModuleGroup& group) {
    Json json{{"name", group.name}, {"flops", group.flops}, {"bytes", group.bytes}, {"time_s", group.seconds}};
    if (group.parts.empty()) return json;
    json["parts"] = Json::array();
    for (const ModuleGroup& part : group.parts) json["parts"].push_back(group_json(part));
    return json;
}

Json total_json(const ModuleAnswer& answer) {
    Json total{{"flops", answer.flops},
               {"matmul_flops", answer.matmul_flops},
               {"recomputed_flops", answer.recomputed_flops},
               {"transcendentals", answer.transcendentals},
               {"bytes", answer.bytes},
               {"lower_s", Json()},
               {"sequential_s", Json()},
               {"expected_s", Json()},
               {"expected_error", Json()},
               {"at_least_s", Json()},
               {"exposed_s", or_null(answer.exposed_s)},
               {"hidden_s", answer.hidden_s},
               {"bound_by", Json()}};
    if (answer.prediction) {
        const Prediction& prediction = *answer.prediction;
        total["lower_s"] = prediction.analysis.total.bounds.lower;
        total["sequential_s"] = prediction.analysis.total.sequential;
        total["expected_s"] = or_null(answer.expected_s);
        total["expected_error"] = or_null(answer.expected_error);
        total["at_least_s"] = or_null(answer.at_least_s);
        if (const Resource* bound = prediction.analysis.total.bound_resource()) total["bound_by"] = bound->label;
    }
    total["collectives"] = Json::object();
    for (const auto& [kind, counted] : answer.collectives) {
        total["collectives"][kind] = {{"count", counted.executed}, {"output_bytes", counted.output_bytes}};
    }
    total["loops"] = Json::array();
    for (const ModuleAnswer::Loop& loop : answer.loops) {
        total["loops"].push_back({{"name", loop.name},
                                  {"computation", loop.computation},
                                  {"trip_count", or_null(loop.trips)},
                                  {"given", loop.given}});
    }
    return total;
}

}  // namespace

std::string hlo_json(const ModuleAnswer& answer) {
    Json root{{"schema", 1}, {"module", answer.name}};
    root["machine"] = answer.prediction ? Json(answer.prediction->machine.id) : Json();
    root["slice"] = answer.prediction ? Json(answer.prediction->system.slice.shape_text()) : Json();
    root["devices"] = answer.devices;
    root["cost"] = answer.counting == ModuleCounting::ours  ? "ours"
                   : answer.counting == ModuleCounting::xla ? "xla"
                                                            : "xla-gpu";
    root["instructions"] = answer.instructions;
    root["total"] = total_json(answer);
    Json memory{{"arguments", answer.memory.arguments},
                {"peak", answer.memory.peak},
                {"capacity", or_null(answer.memory.capacity)},
                {"largest", Json::array()}};
    for (const auto& [name, bytes] : answer.memory.largest) {
        memory["largest"].push_back({{"name", name}, {"bytes", bytes}});
    }
    root["memory_bytes"] = answer.counting == ModuleCounting::ours ? std::move(memory) : Json();
    root["by_source"] = Json::array();
    for (const ModuleGroup& line : answer.by_source) root["by_source"].push_back(group_json(line));
    root["by_scope"] = group_json(answer.by_scope);
    root["ops"] = Json::array();
    for (const ModuleOp& op : answer.ops) root["ops"].push_back(op_json(op));
    if (answer.measured) {
        const ModuleMeasurement& measured = *answer.measured;
        root["measured"] = {{"profile", measured.profile}, {"steps", measured.steps},
                            {"step_s", measured.step_s},   {"matched_s", measured.matched_s},
                            {"other_s", measured.other_s}, {"others", Json::array()}};
        for (const auto& [name, seconds] : measured.others) {
            root["measured"]["others"].push_back({{"name", name}, {"seconds", seconds}});
        }
    }
    root["unknown"] = answer.gaps;
    root["notes"] = answer.notes;
    root["sources"] = Json::array();
    if (answer.prediction) {
        for (const std::string& note : notes_of(*answer.prediction)) root["notes"].push_back(note);
        for (const Resource& resource : answer.prediction->analysis.total.pricing.resources) {
            for (const Term& term : resource.terms) root["sources"].push_back(source_json(term.rate));
        }
    }
    return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace roofline::core
