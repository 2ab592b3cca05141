#include "report/trace/profile_json.hpp"

#include <nlohmann/json.hpp>

#include "report/source_json.hpp"
#include "report/trace/step_comparison_view.hpp"

namespace roofline::core {

namespace {

using ProfileJson = nlohmann::ordered_json;

template <class T>
ProfileJson value_or_null(const std::optional<T>& value) {
    return value ? ProfileJson(*value) : ProfileJson();
}

ProfileJson named_or_null(const std::string& text) { return text.empty() ? ProfileJson() : ProfileJson(text); }

ProfileJson row_json(const ProfileRow& row) {
    const bool both = row.flops && row.bytes && *row.bytes > 0 && row.kind != "collective";
    return {{"name", row.name},
            {"opcode", named_or_null(row.operation)},
            {"inputs", named_or_null(row.shapes)},
            {"kind", row.kind},
            {"count", row.count},
            {"flops", value_or_null(row.flops)},
            {"bytes", value_or_null(row.bytes)},
            {"intensity", both ? ProfileJson(*row.flops / *row.bytes) : ProfileJson()},
            {"lower_s", value_or_null(row.lower_s)},
            {"expected_s", value_or_null(row.expected_s)},
            {"expected_error", value_or_null(row.expected_error)},
            {"floor_s", value_or_null(row.floor_s)},
            {"measured_s", row.measured_s},
            {"least_s", row.least_s},
            {"win_s", row.should_s() ? ProfileJson(row.win_s()) : ProfileJson()},
            {"dtype", row.matmul_dtype ? ProfileJson(name(*row.matmul_dtype)) : ProfileJson()},
            {"dtype_stated", row.matmul_dtype ? ProfileJson(row.dtype_stated) : ProfileJson()},
            {"bound_by", named_or_null(row.bound_by)},
            {"source", named_or_null(row.source)},
            {"recomputed", row.recomputed},
            {"kernels", row.kernels},
            {"unknown", named_or_null(row.unknown)}};
}

}  // namespace

std::string profile_json(const ProfileAnswer& answer) {
    ProfileJson root{{"schema", 1},          {"machine", answer.machine.id}, {"profile", answer.name},
                     {"tool", answer.tool},  {"device", answer.device},      {"rank", answer.rank},
                     {"ranks", answer.ranks}};
    root["steps"] = ProfileJson::array();
    for (const TimedStep& step : answer.steps) {
        root["steps"].push_back(
            {{"name", named_or_null(step.name)}, {"seconds", step.seconds}, {"warm_up", step.warm_up}});
    }
    const AverageStep& step = answer.step;
    root["total"] = {{"measured_s", step.total},
                     {answer.expected ? "expected_s" : "lower_s", answer.should_s},
                     {"unknown_s", answer.unknown_s},
                     {"recomputed_s", answer.recomputed_s},
                     {"kernels_s", step.kernels},
                     {"exposed_communication_s", step.exposed},
                     {"hidden_communication_s", step.hidden},
                     {"copies_s", step.copies},
                     {"not_launched_s", step.host},
                     {"launched_s", step.queued},
                     {"idle_s", step.idle},
                     {"waiting_s", value_or_null(answer.waiting_s)}};
    root["by_kind"] = ProfileJson::array();
    for (const ProfileClass& of : answer.classes) {
        root["by_kind"].push_back({{"kind", of.kind},
                                   {"count", of.count},
                                   {"measured_s", of.measured_s},
                                   {"known_s", of.known_s},
                                   {"should_s", of.should_s},
                                   {"lower_s", of.lower_s}});
    }
    root["causes"] = ProfileJson::array();
    for (const ProfileCause& cause : answer.causes) {
        root["causes"].push_back({{"name", cause.name}, {"seconds", cause.seconds}});
    }
    root["beside"] = answer.beside ? step_comparison_json(*answer.beside) : ProfileJson();
    root["ops"] = ProfileJson::array();
    for (const ProfileRow& row : answer.rows) root["ops"].push_back(row_json(row));
    root["notes"] = answer.notes;
    root["sources"] = roof_sources_json(answer.machine);
    return root.dump(2, ' ', false, ProfileJson::error_handler_t::replace) + "\n";
}

}  // namespace roofline::core
