#include "predict/train/train_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "units/text.hpp"

namespace roofline::core {

std::string slice_id(const Slice& slice) {
    return slice.chips() == 1 ? slice.machine.id : fmt::format("{}:{}", slice.machine.id, slice.shape_text());
}

std::string framework_text(const Framework& framework) {
    std::string text = framework.name;
    if (!framework.version.empty()) text += " " + framework.version;
    if (framework.since.empty() || framework.since == framework.version) return text;
    return text + ", as since " + framework.since;
}

std::vector<StepCollective> step_collectives(const TrainStep& whole) { return collectives_in(whole.program); }

std::vector<StepCollective> collectives_in(const Prediction& step) {
    std::map<std::pair<std::string, std::vector<std::string>>, StepCollective> by_kind;
    for (const MessageWork& each : step.analysis.total.work.messages) {
        const auto times = count(step.program, each.count);
        const auto bytes = count(step.program, each.message.bytes);
        const auto time = message_time(step, each.message);
        if (!times || !bytes) continue;
        const std::string kind(collective_name(each.message.kind));
        StepCollective& sum = by_kind[{kind, each.message.axes}];
        sum.kind = each.message.kind;
        sum.axes = each.message.axes;
        const double often = times->to_double();
        sum.count += often;
        sum.bytes += often * bytes->to_double();
        if (time) sum.seconds += often * time->lower_s;
    }
    std::vector<StepCollective> all;
    for (auto& entry : by_kind) all.push_back(std::move(entry.second));
    std::sort(all.begin(), all.end(),
              [](const StepCollective& a, const StepCollective& b) { return a.seconds > b.seconds; });
    return all;
}

double step_seconds(const TrainAnswer& answer) {
    return answer.step->times.expected.value_or(answer.step->times.lower);
}

std::optional<double> tokens_per_s_per_chip(const TrainAnswer& answer) {
    if (!answer.tokens_per_s) return std::nullopt;
    return *answer.tokens_per_s / static_cast<double>(answer.slice.chips());
}

}  // namespace roofline::core
