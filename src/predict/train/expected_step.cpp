#include "predict/train/expected_step.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bound/network_pricing.hpp"

namespace roofline::core {

namespace {

/// Collectives of a step that run as one exchange: those over replicas with the same kind and axes, because frameworks
/// fill buckets with gradients and weights; any other collective by itself.
struct CollectiveBucket {
    std::size_t message = 0;  ///< index of the first message of the bucket
    double bytes = 0;         ///< total of a bucket over replicas; otherwise of one execution
    double times = 0;
};

std::optional<std::vector<CollectiveBucket>> exchanges_of(const Prediction& step) {
    std::vector<CollectiveBucket> all;
    std::map<std::pair<CollectiveKind, std::vector<std::string>>, std::size_t> buckets;
    const std::vector<MessageWork>& messages = step.analysis.total.work.messages;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const auto times = count(step.program, messages[i].count);
        const auto bytes = messages[i].message.bytes.evaluate(step.program.sizes);
        if (!times || !bytes) return std::nullopt;
        if (!is_over_replicas(messages[i].message)) {
            all.push_back({i, bytes->to_double(), times->to_double()});
            continue;
        }
        const auto [bucket, fresh] =
            buckets.emplace(std::pair(messages[i].message.kind, messages[i].message.axes), all.size());
        if (fresh) all.push_back({i, 0, 1});
        all[bucket->second].bytes += bytes->to_double() * times->to_double();
    }
    return all;
}

// Adds the time of an exchange to the parts of the step. Returns whether its time is known.
bool add_exchange(const Prediction& step, const CollectiveBucket& each, const System& system,
                  const std::vector<std::string>& overlapped, StepParts& parts) {
    const Message& message = step.analysis.total.work.messages[each.message].message;
    const auto load = load_of(message, system);
    const auto lower = load ? time_of(*load, system, each.bytes) : std::nullopt;
    const bool bucket = is_over_replicas(message);
    const bool overlappable = bucket || is_overlapped(message, overlapped);
    const bool known = each.message < step.models.messages.size() && step.models.messages[each.message];
    if (!known) {
        if (lower) (overlappable ? parts.overlappable_wire_s : parts.exchanged_wire_s) += lower->lower_s * each.times;
        return lower.has_value();
    }
    const ExpectedTime& model = *step.models.messages[each.message];
    double seconds = model.seconds;
    const auto point = bucket && load ? collective_point(*load, system, each.bytes) : std::nullopt;
    if (point) seconds = std::max(seconds_of(model, *point), lower ? lower->lower_s : 0);
    (overlappable ? parts.overlappable_s : parts.exchanged_s) += seconds * each.times;
    return true;
}

}  // namespace

double StepParts::* step_part_of(const KernelKey& key, const Machine& machine) {
    constexpr int wide_bits = 16;
    constexpr std::int64_t sum_bits = 32;
    const auto dtype = find_dtype(key.dtype.substr(0, key.dtype.find(" x ")));
    if (!dtype || info(*dtype).bits >= wide_bits) return &StepParts::kernels_s;
    const Peak* peak = machine.peak(Unit::matmul, *dtype);
    const bool partial = peak != nullptr && peak->sum_bits > 0 && peak->sum_bits < sum_bits;
    return partial ? &StepParts::promoted_s : &StepParts::narrow_s;
}

double flops_per_joule(const Machine& machine) {
    const Peak* peak = machine.peak(Unit::matmul, Dtype::bf16);
    if (peak == nullptr || !peak->rate.value || !machine.power.value || !(machine.power.value->value > 0)) return 0;
    return peak->rate.value->value / machine.power.value->value;
}

bool is_over_replicas(const Message& message) { return has(message.axes, "data") || has(message.axes, "fsdp"); }

bool is_overlapped(const Message& message, const std::vector<std::string>& overlapped) {
    return !message.axes.empty() && std::all_of(message.axes.begin(), message.axes.end(),
                                                [&](const std::string& axis) { return has(overlapped, axis); });
}

bool of_experts(const ProgramModels& models, std::size_t kernel) {
    const bool stands_in = kernel < models.instead.size() && models.instead[kernel] == KernelKind::grouped_contraction;
    return stands_in || models.kernels[kernel]->key.kind == KernelKind::grouped_contraction;
}

bool steps_were_measured(const Machine& machine, bool compiled) {
    return compiled ? machine.kind == "tpu" : machine.kind == "gpu" || machine.kind == "chip";
}

bool rests_on_link_rates(const StepParts& parts, const Machine& machine) {
    if (parts.compiled || steps_were_measured(machine, parts.compiled)) return false;
    return parts.overlappable_wire_s + parts.exchanged_wire_s > 0;
}

std::optional<StepParts> step_parts(const Prediction& step, const std::vector<std::string>& overlapped) {
    if (!step.analysis.total.seconds) return std::nullopt;
    StepParts parts;
    parts.flops_per_joule = flops_per_joule(step.machine);
    // if a collective has no model there is no expected time, and the runs have not been computed
    const auto runs =
        step.runs.empty() ? kernel_runs(step.program, step.analysis, chip_traits(step.machine)) : step.runs;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const CalibratedKernel* model = step.models.kernels[i];
        const Work& work = step.analysis.work.kernels[i].work;
        if (model == nullptr && !(work.compute.empty() && work.memory.empty())) return std::nullopt;
        if (model == nullptr) continue;
        parts.experts = parts.experts || of_experts(step.models, i);
        parts.launches += runs[i].count;
        parts.*step_part_of(model->key, step.machine) += runs[i].count * step.models.seconds_at(i, runs[i].point);
    }
    if (!(parts.kernels_s + parts.narrow_s + parts.promoted_s > 0)) return std::nullopt;
    const auto exchanges = exchanges_of(step);
    if (!exchanges) return std::nullopt;
    System system = step.system;
    system.collectives = {};
    for (const CollectiveBucket& each : *exchanges) {
        if (!add_exchange(step, each, system, overlapped, parts)) return std::nullopt;
    }
    return parts;
}

}  // namespace roofline::core
