#include "report/op/op_json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bound/network_pricing.hpp"
#include "report/op/expected_text.hpp"
#include "report/op/op_figures.hpp"
#include "report/source_json.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;

Json sources_of(const Prediction& answer) {
    Json sources = Json::array();
    for (const Resource& resource : answer.analysis.total.pricing.resources) {
        for (const Term& term : resource.terms) {
            sources.push_back(source_json(term.rate));
        }
    }
    return sources;
}

class OpJson {
public:
    explicit OpJson(const Prediction& answer) : answer_(answer), program_(answer.program) {}

    [[nodiscard]] Json whole() const {
        Json json = head();
        json.update(json_of(op_figures(), OpPart{answer_, answer_.analysis.total}));
        json["total"] = total();
        json["tensors"] = tensors();
        json["collectives"] = collectives();
        json["alternatives"] = alternatives();
        json["notes"] = notes_of(answer_);
        json["sources"] = sources_of(answer_);
        Json ops = Json::array();
        if (answer_.analysis.kernels.empty()) {
            ops.push_back(kernel(answer_.analysis.total));
        } else {
            for (const Analysis& analysis : answer_.analysis.kernels) ops.push_back(kernel(analysis));
        }
        json["ops"] = std::move(ops);
        return json;
    }

private:
    [[nodiscard]] Json head() const {
        Json json;
        json["machine"] = answer_.machine.id;
        json["slice"] = answer_.system.slice.shape_text();
        json["chips"] = answer_.system.slice.chips();
        Json mesh = Json::array();
        for (const PlacedAxis& axis : answer_.system.mesh) {
            mesh.push_back({{"axis", axis.name}, {"size", axis.size}, {"on", place_text(answer_.system.slice, axis)}});
        }
        json["mesh"] = std::move(mesh);
        Json dims = Json::object();
        for (const std::string& dim : program_.dims) {
            const auto size = program_.sizes.find(dim);
            dims[dim] = size == program_.sizes.end() ? Json(nullptr) : Json(size->second);
        }
        json["dims"] = std::move(dims);
        return json;
    }

    [[nodiscard]] Json kernel(const Analysis& analysis) const {
        Json json;
        json["op"] = analysis.title;
        json.update(json_of(op_figures(), OpPart{answer_, analysis}));
        return json;
    }

    // Work of all chips together; all other values are per chip. Work that only one chip does counts once.
    [[nodiscard]] Json total() const {
        const std::int64_t chips = answer_.system.slice.chips();
        Work work;
        for (const KernelWork& kernel : answer_.analysis.work.kernels) {
            const bool alone = std::any_of(kernel.statements.begin(), kernel.statements.end(),
                                           [](const Statement* statement) { return statement->one_chip; });
            work += kernel.work.times(kernel.count * Polynomial(alone ? 1 : chips));
        }
        Json bytes = Json::object();
        for (const auto& [level, traffic] : work.memory) {
            bytes[level] = {{"read", rational_value(count(program_, traffic.read))},
                            {"write", rational_value(count(program_, traffic.write))}};
        }
        return {{"chips", chips},
                {"flops", rational_value(count(program_, work.flops()))},
                {"bytes", std::move(bytes)},
                {"traffic_bytes", traffic_json(answer_, answer_.analysis.total.work, true)}};
    }

    [[nodiscard]] static Json coordinates(const MeshPlace& place) {
        Json json = Json::object();
        for (const auto& [axis, coordinate] : place) json[axis] = coordinate;
        return json;
    }

    [[nodiscard]] Json collectives() const {
        Json list = Json::array();
        const std::vector<MessageWork>& messages = answer_.analysis.total.work.messages;
        for (std::size_t i = 0; i < messages.size(); ++i) {
            const MessageWork& each = messages[i];
            const Message& message = each.message;
            const auto time = message_time(answer_, message);
            Json entry{{"kind", std::string(collective_name(message.kind))},
                       {"axes", message.axes},
                       {"tensor", message.tensor},
                       {"bytes", rational_value(count(program_, message.bytes))},
                       {"count", rational_value(count(program_, each.count))},
                       {"time_s", time ? figure_value(time->lower_s) : Json(nullptr)},
                       {"latency_bound", time ? Json(time->latency_bound) : Json(nullptr)}};
            if (!message.from.empty()) entry["from"] = coordinates(message.from);
            if (!message.to.empty()) entry["to"] = coordinates(message.to);
            add_expected(entry, i, time);
            list.push_back(std::move(entry));
        }
        return list;
    }

    // Algorithm and bus bandwidth follow from the expected time, or from the lower bound if there is none.
    void add_expected(Json& json, std::size_t i, const std::optional<CollectiveTime>& time) const {
        const Message& message = answer_.analysis.total.work.messages[i].message;
        const ExpectedTime* expected =
            i < answer_.models.messages.size() && answer_.models.messages[i] ? &*answer_.models.messages[i] : nullptr;
        const auto load = load_of(message, answer_.system);
        const auto bytes = count(program_, message.bytes);
        const double seconds = expected != nullptr ? expected->seconds : time ? time->lower_s : 0;
        CollectiveBandwidth bandwidth;
        if (load && bytes) {
            bandwidth = collective_bandwidth(message.kind, load->members, bytes->to_double(), seconds);
        }
        const auto positive = [](double value) { return value > 0 ? figure_value(value) : Json(nullptr); };
        json["expected_s"] = expected != nullptr ? figure_value(expected->seconds) : Json(nullptr);
        json["expected_error"] = expected != nullptr ? figure_value(expected->error) : Json(nullptr);
        json["calibration"] = expected != nullptr ? Json(calibration_name(*expected)) : Json(nullptr);
        json["algbw_Bps"] = positive(bandwidth.algorithm);
        json["busbw_Bps"] = positive(bandwidth.bus);
    }

    // Alternative legal layouts: of the program if it has one statement, else of each statement.
    [[nodiscard]] Json alternatives() const {
        Json list = Json::array();
        for (const LaidStatement& statement : answer_.layouts) {
            for (std::size_t i = 1; i < statement.plans.size(); ++i) {
                const LayoutPlan& plan = statement.plans[i];
                const bool sized =
                    answer_.analysis.total.seconds.has_value();  // without sizes, layouts are ranked at assumed sizes
                Json entry{{"plan", plan.text},
                           {"lower_s", sized ? Json(plan.lower_s) : Json(nullptr)},
                           {"upper_s", sized ? Json(plan.upper_s) : Json(nullptr)}};
                if (answer_.layouts.size() > 1) entry["result"] = value_name(program_, statement.result);
                list.push_back(std::move(entry));
            }
        }
        return list;
    }

    [[nodiscard]] Json tensors() const {
        Json list = Json::array();
        for (ValueId id = 0; id < program_.values.size(); ++id) {
            const Value& value = answer_.local->values[id];
            if (value.intermediate) continue;
            Json tensor;
            tensor["name"] = value_name(program_, id);
            tensor["dtype"] = std::string(name(value.type.dtype));
            tensor["level"] = value.level;
            Json shape = Json::array();
            for (const Axis& axis : value.type.axes) {
                const auto size = answer_.local->sizes.find(axis.dim);
                shape.push_back(size == answer_.local->sizes.end() ? Json(nullptr) : Json(size->second));
            }
            tensor["local_shape"] = std::move(shape);
            const Polynomial bytes = bytes_of(answer_.local->local_dims, value);
            tensor["local_bytes"] = rational_value(count(program_, bytes));
            const bool at_chip = id < answer_.types.size() && !answer_.types[id].at.empty();
            const std::int64_t holders = at_chip ? 1 : answer_.system.slice.chips();
            tensor["total_bytes"] = rational_value(count(program_, bytes * Polynomial(holders)));
            if (at_chip) tensor["at"] = coordinates(answer_.types[id].at);
            list.push_back(std::move(tensor));
        }
        return list;
    }

    const Prediction& answer_;
    const Program& program_;
};

}  // namespace

std::string op_json(const std::vector<Prediction>& answers) {
    if (answers.size() == 1) {
        Json json;
        json["schema"] = 1;
        json.update(OpJson(answers.front()).whole());
        return dumped(json) + "\n";
    }
    Json list = Json::array();
    for (const Prediction& answer : answers) list.push_back(OpJson(answer).whole());
    return dumped(Json{{"schema", 1}, {"machines", std::move(list)}}) + "\n";
}

std::string shared_json(const Prediction& answer) {
    return fmt::format(R"("machine":{},"notes":{},"sources":{})", dumped(answer.machine.id), dumped(notes_of(answer)),
                       dumped(sources_of(answer)));
}

namespace {

Json error_object(const Error& error) {
    Json json;
    json["code"] = error.code;
    json["message"] = error.message;
    json["line"] = error.place ? Json(error.place->line) : Json(nullptr);
    json["column"] = error.place ? Json(error.place->column) : Json(nullptr);
    json["source"] = error.place ? Json(error.place->source) : Json(nullptr);
    json["hint"] = error.hint;
    return json;
}

}  // namespace

std::string error_json(const Error& error) {
    return dumped(Json{{"schema", 1}, {"error", error_object(error)}}) + "\n";
}

std::string json_beside_errors(std::string answer, bool one_machine, const std::vector<MachineError>& errors) {
    Json list = Json::array();
    for (const MachineError& each : errors) {
        Json object{{"machine", each.machine}};
        object.update(error_object(each.error));
        list.push_back(std::move(object));
    }
    while (answer.ends_with('\n')) answer.pop_back();
    if (one_machine) {
        answer = machines_json({answer});
        while (answer.ends_with('\n')) answer.pop_back();
    }
    // The answer is one object.
    answer.pop_back();
    while (answer.ends_with('\n') || answer.ends_with(' ')) answer.pop_back();
    return fmt::format("{},\"errors\":{}}}\n", answer, dumped(list));
}

}  // namespace roofline::core
