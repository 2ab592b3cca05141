#include "report/op/sweep_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "report/op/op_json.hpp"

namespace roofline::core {

namespace {

std::string quoted_json(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Writes the points of a sweep. Because there may be 100,000 of them, keys are formatted once and numbers are appended
// directly to the text.
class PointWriter {
public:
    PointWriter(const Prediction& answer, const std::vector<SweepAxis>& axes) : total_(answer.analysis.total) {
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
            names_.push_back(quoted_json(resource.id));
        }
        if (const Resource* compute = total_.pricing.compute(); compute != nullptr) {
            compute_ = static_cast<std::size_t>(compute - total_.pricing.resources.data());
        }
        if (!answer.layouts.empty()) {
            communication_ = fmt::format("\"communication\":{},", quoted_json(communication_text(answer)));
        }
    }

    void write(std::span<const std::int64_t> sizes, const CompiledProgram::Point& point,
               std::optional<double> expected_s, std::string& text) {
        text_.swap(text);
        text_ += text_.empty() ? "{" : ",\n{";
        open("dims");
        for (const Dim& dim : dims_) {
            fmt::format_to(std::back_inserter(text_), "{}{},", dim.key,
                           dim.axis < sizes.size() ? sizes[dim.axis] : dim.size);
        }
        close();
        field("\"flops\":", point.flops());
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
        for (std::size_t i = 0; i < levels_.size(); ++i) field(levels_[i], point.intensity(i));
        close();
        open("time_s");
        for (std::size_t i = 0; i < resources_.size(); ++i) field(resources_[i], point.least_seconds(i));
        close();
        field("\"lower_s\":", point.bounds.lower);
        field("\"sequential_s\":", point.sequential);
        field("\"expected_s\":", expected_s.value_or(std::nan("")));
        field("\"upper_s\":", point.bounds.upper);
        text_ += fmt::format("\"bound_by\":{},", point.bounds.bound_by ? names_[*point.bounds.bound_by] : "null");
        field("\"peak_fraction\":", compute_ ? point.seconds[*compute_] / point.bounds.lower : std::nan(""));
        text_ += communication_;
        text_.back() = '}';
        text_.swap(text);
    }

private:
    struct Dim {
        std::string key;
        std::size_t axis = 0;  ///< index of the sweep axis; the number of axes if it is none of them
        std::int64_t size = 0;
    };

    [[nodiscard]] static std::string key(const std::string& name) { return quoted_json(name) + ":"; }
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
    std::string communication_;
    std::string text_;  ///< all points so far
};

std::string sweep_array(const Prediction& answer, const std::vector<SweepAxis>& axes) {
    std::vector<PointWriter> writers{PointWriter(answer, axes)};
    for (const Prediction& other : answer.alternative_predictions) writers.emplace_back(other, axes);
    std::string text;
    for_each_point(answer, axes,
                   [&](std::span<const std::int64_t> sizes, const CompiledProgram::Point& point, const Prediction& at,
                       std::optional<double> expected_s) {
                       const auto writer = &at == &answer ? 0 : 1 + (&at - answer.alternative_predictions.data());
                       writers[static_cast<std::size_t>(writer)].write(sizes, point, expected_s, text);
                   });
    return "[" + text + "]";
}

}  // namespace

std::string sweep_json(const std::vector<Prediction>& answers, const std::vector<SweepAxis>& axes) {
    if (answers.size() == 1) {
        return fmt::format("{{\"schema\":1,\"sweep\":{},{}}}\n", sweep_array(answers.front(), axes),
                           shared_json(answers.front()));
    }
    std::string text;
    for (const Prediction& answer : answers) {
        text += fmt::format("{}{{\"sweep\":{},{}}}", text.empty() ? "" : ",\n", sweep_array(answer, axes),
                            shared_json(answer));
    }
    return fmt::format("{{\"schema\":1,\"machines\":[{}]}}\n", text);
}

}  // namespace roofline::core
