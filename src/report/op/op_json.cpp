#include "report/op/op_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bound/network_pricing.hpp"
#include "predict/expected_basis.hpp"
#include "report/op/expected_text.hpp"
#include "report/source_json.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<Rational>& value) {
    if (!value || value->overflowed()) return nullptr;
    if (const auto whole = value->to_int64()) return *whole;
    return value->to_double();
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json number(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

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
        add_analysis(json, answer_.analysis.total);
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
        add_analysis(json, analysis);
        return json;
    }

    void add_analysis(Json& json, const Analysis& analysis) const {
        add_work(json, analysis);
        add_times(json, analysis);
        json["critical"] = critical(analysis);
        json["formulas"] = formulas(analysis);
        Json limits = Json::object();
        for (const auto& [dim, limit] : analysis.limits) limits[dim] = limit.to_text(program_.dims);
        json["intensity_limits"] = std::move(limits);
        if (analysis.padding) {
            json["padding"] = {{"lost_flops", analysis.padding->padded_flops - analysis.padding->useful_flops},
                               {"useful_fraction", analysis.padding->useful_flops / analysis.padding->padded_flops},
                               {"math_s", analysis.padding->padded_seconds},
                               {"dims", analysis.padding->sides}};
        } else {
            json["padding"] = nullptr;
        }
        Json footprint = Json::object();
        for (const auto& [level, held] : analysis.footprint) {
            footprint[level] = {{"bytes", number(held.bytes)}, {"capacity", number(held.capacity)}};
        }
        json["footprint"] = std::move(footprint);
        json["energy_j"] = number(analysis.energy_j);
    }

    void add_work(Json& json, const Analysis& analysis) const {
        const Work& work = analysis.work;
        json["flops"] = number(count(program_, work.flops()));
        Json by = Json::object();
        for (const KeyedFlops& entry : analysis.pricing.flops_by())
            by[entry.key] = number(count(program_, entry.flops));
        json["flops_by"] = std::move(by);
        json["transcendentals"] = number(count(program_, work.transcendentals));
        Json bytes = Json::object();
        Json intensity = Json::object();
        Json ridge = Json::object();
        for (const auto& [level, traffic] : work.memory) {
            bytes[level] = {{"read", number(count(program_, traffic.read))},
                            {"write", number(count(program_, traffic.write))}};
            const auto flops = count(program_, work.flops());
            const auto moved = count(program_, traffic.total());
            intensity[level] =
                flops && moved && !moved->is_zero() ? number(flops->to_double() / moved->to_double()) : Json(nullptr);
            const auto meets = analysis.ridge.find(level);
            ridge[level] = meets == analysis.ridge.end() ? Json(nullptr) : number(meets->second);
        }
        json["bytes"] = std::move(bytes);
        json["traffic_bytes"] = traffic(work);
        json["intensity"] = std::move(intensity);
        json["ridge"] = std::move(ridge);
    }

    void add_times(Json& json, const Analysis& analysis) const {
        Json times = Json::object();
        for (std::size_t i = 0; i < analysis.pricing.resources.size(); ++i) {
            times[analysis.pricing.resources[i].id] =
                analysis.seconds ? number(analysis.least_seconds[i]) : Json(nullptr);
        }
        for (const std::string& level : analysis.pricing.unpriced) times[level] = nullptr;
        json["time_s"] = std::move(times);
        const bool sized = analysis.seconds.has_value();
        json["lower_s"] = sized ? number(analysis.bounds.lower) : Json(nullptr);
        json["sequential_s"] = sized ? number(analysis.sequential) : Json(nullptr);
        json["exposed_s"] = number(analysis.exposed);
        const bool whole = &analysis == &answer_.analysis.total;
        if (whole) {
            json["uniform_lower_s"] = answer_.uniform ? number(answer_.uniform->lower_s) : Json(nullptr);
            json["uniform_bound_by"] = answer_.uniform ? Json(answer_.uniform->bound_by) : Json(nullptr);
        }
        json["expected_s"] =
            number(whole ? fastest(answer_).expected_s : expected_of_kernel(answer_, place_of(analysis)));
        json["expected_error"] = whole ? number(fastest(answer_).expected_error) : Json(nullptr);
        if (whole) json["expected_layout"] = expected_layout();
        if (whole) json["expected_by"] = expected_by();
        if (whole) json["extrapolated"] = beyond_measured();
        json["upper_s"] = sized ? number(analysis.bounds.upper) : Json(nullptr);
        const Resource* bound = analysis.bound_resource();
        json["bound_by"] = bound != nullptr ? Json(bound->id) : Json(nullptr);
        json["peak_fraction"] = number(analysis.peak_fraction);
    }

    /// What communicates in the layout that is expected to be the fastest, where it is not the one that the answer
    /// shows.
    [[nodiscard]] Json expected_layout() const {
        const Prediction& best = fastest(answer_);
        return &best == &answer_ ? Json(nullptr) : Json(communication_text(best));
    }

    /// The laws of kernels that the expected time is made of.
    [[nodiscard]] Json expected_by() const {
        Json list = Json::array();
        for (const LawBasis& each : law_bases(fastest(answer_))) {
            const KernelKey& key = each.law->key;
            list.push_back({{"kind", name(key.kind)},
                            {"dtype", key.dtype},
                            {"software", key.software},
                            {"variant", key.variant},
                            {"machine", each.machine},
                            {"carried", each.carried},
                            {"measurements", each.law->fit.rows},
                            {"error", each.error}});
        }
        return list;
    }

    [[nodiscard]] Json beyond_measured() const {
        Json list = Json::array();
        for (const Extrapolated& each : extrapolated(fastest(answer_))) {
            list.push_back({{"size", each.size}, {"value", each.value}, {"limit", each.limit}, {"error", each.error}});
        }
        return list;
    }

    /// Of a kernel among all.
    [[nodiscard]] std::size_t place_of(const Analysis& kernel) const {
        return static_cast<std::size_t>(&kernel - answer_.analysis.kernels.data());
    }

    [[nodiscard]] static Json critical(const Analysis& analysis) {
        Json list = Json::array();
        for (const CriticalSize& size : analysis.critical) {
            Json entry;
            entry["dim"] = size.dim;
            entry["level"] = size.level;
            entry["status"] = nullptr;
            entry["exact"] = nullptr;
            if (size.crossing) {
                using State = Crossing::State;
                entry["status"] = size.crossing->state == State::crossing ? "crossing"
                                  : size.crossing->state == State::always ? "always"
                                                                          : "never";
                entry["exact"] = number(size.crossing->root);
                if (size.crossing->state == State::crossing)
                    entry["compute_bound"] = size.crossing->above ? "above" : "below";
            }
            entry["limit"] = number(size.limit);
            list.push_back(std::move(entry));
        }
        return list;
    }

    [[nodiscard]] Json formulas(const Analysis& analysis) const {
        Json json;
        json["flops"] = shown(answer_, analysis.work.flops()).to_text(program_.dims);
        for (const auto& [level, traffic] : analysis.work.memory) {
            json[level + "_bytes"] = shown(answer_, traffic.total()).to_text(program_.dims);
        }
        const auto main = analysis.intensity.find(analysis.main_level);
        json["intensity"] =
            main == analysis.intensity.end() ? Json(nullptr) : Json(main->second.to_text(program_.dims));
        for (const Resource& resource : analysis.pricing.resources) {
            std::string text;
            for (const Term& term : resource.terms) {
                text += fmt::format("{}({}) / {}", text.empty() ? "" : " + ",
                                    shown(answer_, term.work).to_text(program_.dims), exact_text(term.rate.value));
            }
            json["time_" + resource.id] = text;
        }
        return json;
    }

    // Of all chips together; everything else is of one. What one chip does alone counts once.
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
            bytes[level] = {{"read", number(count(program_, traffic.read))},
                            {"write", number(count(program_, traffic.write))}};
        }
        return {{"chips", chips},
                {"flops", number(count(program_, work.flops()))},
                {"bytes", std::move(bytes)},
                {"traffic_bytes", traffic(answer_.analysis.total.work, true)}};
    }

    // Sent by one chip, or by all, by tier. Of a transfer with a root by the root or by what sends to it.
    [[nodiscard]] Json traffic(const Work& work, bool by_all = false) const {
        std::map<std::string, double> sent;
        for (const MessageWork& each : work.messages) {
            const auto load = load_of(each.message, answer_.system);
            const auto bytes = (each.message.bytes * each.count).evaluate(program_.sizes);
            if (!load || !bytes) return Json::object();
            for (const TierLoad& tier : load->tiers) {
                const double by_one = tier.sent_bytes.to_double();
                const double share = !by_all ? by_one
                                     : has_root(load->kind)
                                         ? load->sent_by_all.to_double()
                                         : by_one * static_cast<double>(answer_.system.slice.chips());
                sent[name_of(tier, answer_.system).id] += bytes->to_double() * share;
            }
        }
        Json json = Json::object();
        for (const auto& [tier, bytes] : sent) json[tier] = number(bytes);
        return json;
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
                       {"bytes", number(count(program_, message.bytes))},
                       {"count", number(count(program_, each.count))},
                       {"time_s", time ? number(time->lower_s) : Json(nullptr)},
                       {"latency_bound", time ? Json(time->latency_bound) : Json(nullptr)}};
            if (!message.from.empty()) entry["from"] = coordinates(message.from);
            if (!message.to.empty()) entry["to"] = coordinates(message.to);
            add_expected(entry, i, time);
            list.push_back(std::move(entry));
        }
        return list;
    }

    // nccl-tests' bandwidths are those of the expected time, where there is none of the bound.
    void add_expected(Json& json, std::size_t i, const std::optional<CollectiveTime>& time) const {
        const Message& message = answer_.analysis.total.work.messages[i].message;
        const ExpectedTime* expected =
            i < answer_.laws.messages.size() && answer_.laws.messages[i] ? &*answer_.laws.messages[i] : nullptr;
        const auto load = load_of(message, answer_.system);
        const auto bytes = count(program_, message.bytes);
        const double seconds = expected != nullptr ? expected->seconds : time ? time->lower_s : 0;
        CollectiveBandwidth bandwidth;
        if (load && bytes) {
            bandwidth = collective_bandwidth(message.kind, load->members, bytes->to_double(), seconds);
        }
        const auto positive = [](double value) { return value > 0 ? number(value) : Json(nullptr); };
        json["expected_s"] = expected != nullptr ? number(expected->seconds) : Json(nullptr);
        json["expected_error"] = expected != nullptr ? number(expected->error) : Json(nullptr);
        json["calibration"] = expected != nullptr ? Json(calibration_name(*expected)) : Json(nullptr);
        json["algbw_Bps"] = positive(bandwidth.algorithm);
        json["busbw_Bps"] = positive(bandwidth.bus);
    }

    // The other legal ways of a program of one statement; of several, of each statement.
    [[nodiscard]] Json alternatives() const {
        Json list = Json::array();
        for (const LaidStatement& statement : answer_.layouts) {
            for (std::size_t i = 1; i < statement.plans.size(); ++i) {
                const LayoutPlan& plan = statement.plans[i];
                const bool sized =
                    answer_.analysis.total.seconds.has_value();  // plans are ranked at stand-in sizes else
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
            const Value& value = answer_.local.values[id];
            if (value.intermediate) continue;
            Json tensor;
            tensor["name"] = value_name(program_, id);
            tensor["dtype"] = std::string(name(value.type.dtype));
            tensor["level"] = value.level;
            Json shape = Json::array();
            for (const Axis& axis : value.type.axes) {
                const auto size = answer_.local.sizes.find(axis.dim);
                shape.push_back(size == answer_.local.sizes.end() ? Json(nullptr) : Json(size->second));
            }
            tensor["local_shape"] = std::move(shape);
            const Polynomial bytes = bytes_of(value);
            tensor["local_bytes"] = number(count(program_, bytes));
            const bool at_chip = id < answer_.types.size() && !answer_.types[id].at.empty();
            const std::int64_t holders = at_chip ? 1 : answer_.system.slice.chips();
            tensor["total_bytes"] = number(count(program_, bytes * Polynomial(holders)));
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
        return dump(json) + "\n";
    }
    Json list = Json::array();
    for (const Prediction& answer : answers) list.push_back(OpJson(answer).whole());
    return dump(Json{{"schema", 1}, {"machines", std::move(list)}}) + "\n";
}

std::string shared_json(const Prediction& answer) {
    return fmt::format(R"("machine":{},"notes":{},"sources":{})", dump(answer.machine.id), dump(notes_of(answer)),
                       dump(sources_of(answer)));
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
    return dump(Json{{"schema", 1}, {"error", error_object(error)}}) + "\n";
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
    // the answer is one object
    answer.pop_back();
    while (answer.ends_with('\n') || answer.ends_with(' ')) answer.pop_back();
    return fmt::format("{},\"errors\":{}}}\n", answer, dump(list));
}

}  // namespace roofline::core
