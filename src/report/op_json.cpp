#include "report/op_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "units/text.hpp"

namespace roofline {

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

class OpJson {
public:
    explicit OpJson(const OpAnswer& answer) : answer_(answer), program_(answer.program) {}

    [[nodiscard]] Json whole() const {
        Json json = head();
        add_analysis(json, answer_.analysis.total);
        json["tensors"] = tensors();
        json["collectives"] = Json::array();
        json["alternatives"] = Json::array();
        json["notes"] = notes_of(answer_);
        json["sources"] = sources();
        Json ops = Json::array();
        if (answer_.analysis.kernels.empty()) {
            ops.push_back(kernel(answer_.analysis.total));
        } else {
            for (const Analysis& analysis : answer_.analysis.kernels) ops.push_back(kernel(analysis));
        }
        json["ops"] = std::move(ops);
        return json;
    }

    [[nodiscard]] Json head() const {
        Json json;
        json["machine"] = answer_.machine.id;
        Json dims = Json::object();
        for (const std::string& dim : program_.dims) {
            const auto size = program_.sizes.find(dim);
            dims[dim] = size == program_.sizes.end() ? Json(nullptr) : Json(size->second);
        }
        json["dims"] = std::move(dims);
        return json;
    }

    [[nodiscard]] Json sources() const {
        Json sources = Json::array();
        for (const Resource& resource : answer_.analysis.total.pricing.resources) {
            for (const Term& term : resource.terms) {
                const Rate& rate = term.rate;
                Json source;
                source["figure"] = rate.path;
                source["value"] = rate.value;
                source["unit"] = rate.flops ? "FLOP/s" : "B/s";
                source["basis"] = rate.what_if ? "what-if" : std::string(name(rate.basis));
                source["confidence"] = std::string(1, rate.confidence);
                source["source"] = rate.source;
                source["note"] = rate.note;
                Json others = Json::array();
                for (const Alternative& other : rate.alternatives) {
                    others.push_back({{"value", other.value}, {"source", other.source}, {"note", other.note}});
                }
                source["alternatives"] = std::move(others);
                sources.push_back(std::move(source));
            }
        }
        return sources;
    }

private:
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
        json["traffic_bytes"] = Json::object();
        json["intensity"] = std::move(intensity);
        json["ridge"] = std::move(ridge);
    }

    void add_times(Json& json, const Analysis& analysis) const {
        Json times = Json::object();
        for (std::size_t i = 0; i < analysis.pricing.resources.size(); ++i) {
            times[analysis.pricing.resources[i].id] = analysis.seconds ? number((*analysis.seconds)[i]) : Json(nullptr);
        }
        for (const std::string& level : analysis.pricing.unpriced) times[level] = nullptr;
        json["time_s"] = std::move(times);
        const bool sized = analysis.seconds.has_value();
        json["lower_s"] = sized ? number(analysis.bounds.lower) : Json(nullptr);
        json["sequential_s"] = sized ? number(analysis.sequential) : Json(nullptr);
        json["expected_s"] = nullptr;
        json["expected_error"] = nullptr;
        json["upper_s"] = sized ? number(analysis.bounds.upper) : Json(nullptr);
        const Resource* bound = analysis.bound_resource();
        json["bound_by"] = bound != nullptr ? Json(bound->id) : Json(nullptr);
        json["peak_fraction"] = number(analysis.peak_fraction);
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
        json["flops"] = shown(program_, analysis.work.flops()).to_text(program_.dims);
        for (const auto& [level, traffic] : analysis.work.memory) {
            json[level + "_bytes"] = shown(program_, traffic.total()).to_text(program_.dims);
        }
        const auto main = analysis.intensity.find(analysis.main_level);
        json["intensity"] =
            main == analysis.intensity.end() ? Json(nullptr) : Json(main->second.to_text(program_.dims));
        for (const Resource& resource : analysis.pricing.resources) {
            std::string text;
            for (const Term& term : resource.terms) {
                text += fmt::format("{}({}) / {}", text.empty() ? "" : " + ",
                                    shown(program_, term.work).to_text(program_.dims), exact_text(term.rate.value));
            }
            json["time_" + resource.id] = text;
        }
        return json;
    }

    [[nodiscard]] Json tensors() const {
        Json list = Json::array();
        for (ValueId id = 0; id < program_.values.size(); ++id) {
            const Value& value = program_.values[id];
            if (value.intermediate) continue;
            Json tensor;
            tensor["name"] = value_name(program_, id);
            tensor["dtype"] = std::string(name(value.type.dtype));
            tensor["level"] = value.level;
            Json shape = Json::array();
            for (const Axis& axis : value.type.axes) {
                const auto size = program_.sizes.find(axis.dim);
                shape.push_back(size == program_.sizes.end() ? Json(nullptr) : Json(size->second));
            }
            tensor["local_shape"] = std::move(shape);
            tensor["local_bytes"] = number(count(program_, bytes_of(value)));
            tensor["total_bytes"] = tensor["local_bytes"];
            list.push_back(std::move(tensor));
        }
        return list;
    }

    const OpAnswer& answer_;
    const Program& program_;
};

// Writes the points of a sweep. There may be 100,000 of them, so keys are made once and numbers go straight into the text.
class PointWriter {
public:
    PointWriter(const OpAnswer& answer, const std::vector<SweepAxis>& axes) : total_(answer.analysis.total) {
        for (const std::string& dim : answer.program.dims) {
            std::size_t source = axes.size();
            for (std::size_t i = 0; i < axes.size(); ++i) {
                const auto& dims = axes[i].dims;
                if (std::find(dims.begin(), dims.end(), dim) != dims.end()) source = i;
            }
            dims_.push_back({key(dim), source, answer.program.sizes.at(dim)});
        }
        for (const KeyedFlops& entry : total_.pricing.flops_by()) flops_keys_.push_back(key(entry.key));
        for (const auto& entry : total_.work.memory) levels_.push_back(key(entry.first));
        for (const Resource& resource : total_.pricing.resources) {
            resources_.push_back(key(resource.id));
            names_.push_back(dump(resource.id));
        }
        if (const Resource* compute = total_.pricing.compute(); compute != nullptr) {
            compute_ = static_cast<std::size_t>(compute - total_.pricing.resources.data());
        }
    }

    void write(std::span<const std::int64_t> sizes, const CompiledProgram::Point& point) {
        text_ += text_.empty() ? "{" : ",\n{";
        open("dims");
        for (const Dim& dim : dims_) {
            fmt::format_to(std::back_inserter(text_), "{}{},", dim.key,
                           dim.axis < sizes.size() ? sizes[dim.axis] : dim.size);
        }
        double flops = 0;
        for (const double term : point.term_flops) flops += term;
        close();
        field("\"flops\":", flops);
        open("flops_by");
        for (std::size_t i = 0; i < flops_keys_.size(); ++i) field(flops_keys_[i], point.term_flops[i]);
        close();
        field("\"transcendentals\":", point.transcendentals);
        open("bytes");
        for (std::size_t i = 0; i < levels_.size(); ++i) {
            text_ += levels_[i] + "{";
            field("\"read\":", point.read[i]);
            field("\"write\":", point.write[i]);
            close();
        }
        close();
        open("intensity");
        for (std::size_t i = 0; i < levels_.size(); ++i) field(levels_[i], flops / (point.read[i] + point.write[i]));
        close();
        open("time_s");
        for (std::size_t i = 0; i < resources_.size(); ++i) field(resources_[i], point.seconds[i]);
        close();
        field("\"lower_s\":", point.bounds.lower);
        field("\"sequential_s\":", point.sequential);
        text_ += "\"expected_s\":null,";
        field("\"upper_s\":", point.bounds.upper);
        text_ += fmt::format("\"bound_by\":{},", point.bounds.bound_by ? names_[*point.bounds.bound_by] : "null");
        field("\"peak_fraction\":", compute_ ? point.seconds[*compute_] / point.bounds.lower : std::nan(""));
        text_.back() = '}';
    }

    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    struct Dim {
        std::string key;
        std::size_t axis = 0;  ///< the sweep's, or beyond them all
        std::int64_t size = 0;
    };

    [[nodiscard]] static std::string key(const std::string& name) { return dump(name) + ":"; }
    void open(std::string_view name) { fmt::format_to(std::back_inserter(text_), "\"{}\":{{", name); }
    void close() {
        if (text_.back() == ',') text_.pop_back();
        text_ += "},";
    }
    void field(std::string_view key, double value) {
        text_ += key;
        if (std::isfinite(value)) {
            fmt::format_to(std::back_inserter(text_), "{},", value);
        } else {
            text_ += "null,";
        }
    }

    const Analysis& total_;
    std::vector<Dim> dims_;
    std::vector<std::string> flops_keys_;
    std::vector<std::string> levels_;
    std::vector<std::string> resources_;
    std::vector<std::string> names_;
    std::optional<std::size_t> compute_;
    std::string text_;
};

std::string sweep_array(const OpAnswer& answer, const std::vector<SweepAxis>& axes) {
    PointWriter writer(answer, axes);
    for_each_point(
        answer.program, answer.analysis, axes,
        [&](std::span<const std::int64_t> sizes, const CompiledProgram::Point& point) { writer.write(sizes, point); });
    return "[" + writer.take() + "]";
}

// What is the same at every point, said once.
std::string sweep_tail(const OpAnswer& answer) {
    return fmt::format(R"("machine":{},"notes":{},"sources":{})", dump(answer.machine.id), dump(notes_of(answer)),
                       dump(OpJson(answer).sources()));
}

}  // namespace

std::string op_json(const std::vector<OpAnswer>& answers) {
    if (answers.size() == 1) {
        Json json;
        json["schema"] = 1;
        json.update(OpJson(answers.front()).whole());
        return dump(json) + "\n";
    }
    Json list = Json::array();
    for (const OpAnswer& answer : answers) list.push_back(OpJson(answer).whole());
    return dump(Json{{"schema", 1}, {"machines", std::move(list)}}) + "\n";
}

std::string sweep_json(const std::vector<OpAnswer>& answers, const std::vector<SweepAxis>& axes) {
    if (answers.size() == 1) {
        return fmt::format("{{\"schema\":1,\"sweep\":{},{}}}\n", sweep_array(answers.front(), axes),
                           sweep_tail(answers.front()));
    }
    std::string text;
    for (const OpAnswer& answer : answers) {
        text += fmt::format("{}{{\"sweep\":{},{}}}", text.empty() ? "" : ",\n", sweep_array(answer, axes),
                            sweep_tail(answer));
    }
    return fmt::format("{{\"schema\":1,\"machines\":[{}]}}\n", text);
}

std::string error_json(const Error& error) {
    Json json;
    json["code"] = error.code;
    json["message"] = error.message;
    json["line"] = error.place ? Json(error.place->line) : Json(nullptr);
    json["column"] = error.place ? Json(error.place->column) : Json(nullptr);
    json["source"] = error.place ? Json(error.place->source) : Json(nullptr);
    json["hint"] = error.hint;
    return dump(Json{{"schema", 1}, {"error", std::move(json)}}) + "\n";
}

}  // namespace roofline
