#include "app/expected_step.hpp"

#include <algorithm>

#include "bound/network_pricing.hpp"

namespace roofline {

namespace {

struct MessageSeconds {
    double seconds = 0;
    bool calibrated = false;
};

bool narrow(const KernelKey& key) {
    const auto dtype = find_dtype(key.dtype.substr(0, key.dtype.find(" x ")));
    return dtype && info(*dtype).bits < 16;
}

// 0: nobody says what power the chip may draw, or it has no peak in bf16.
double flops_per_joule(const Machine& machine) {
    const Peak* peak = machine.peak(Unit::matmul, Dtype::bf16);
    if (peak == nullptr || !peak->rate.value || !machine.power.value || !(machine.power.value->value > 0)) return 0;
    return peak->rate.value->value / machine.power.value->value;
}

std::optional<MessageSeconds> seconds_of_message(const OpAnswer& step, std::size_t i) {
    const MessageWork& each = step.analysis.total.work.messages[i];
    const auto times = count(step.program, each.count);
    if (!times) return std::nullopt;
    if (i < step.laws.messages.size() && step.laws.messages[i]) {
        return MessageSeconds{step.laws.messages[i]->seconds * times->to_double(), true};
    }
    System system = step.system;
    system.collectives = {};
    const auto load = load_of(each.message, system);
    const auto bytes = each.message.bytes.evaluate(step.program.sizes);
    if (!load || !bytes) return std::nullopt;
    const auto time = time_of(*load, system, bytes->to_double());
    if (!time) return std::nullopt;
    return MessageSeconds{time->lower_s * times->to_double(), false};
}

}  // namespace

std::optional<StepParts> step_parts(const OpAnswer& step) {
    if (!step.analysis.total.seconds) return std::nullopt;
    StepParts parts;
    parts.flops_per_joule = flops_per_joule(step.machine);
    // where a collective has no law there is no expected time, and nobody has asked for runs
    const auto runs =
        step.runs.empty() ? kernel_runs(step.program, step.analysis, chip_traits(step.machine)) : step.runs;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const CalibratedKernel* law = step.laws.kernels[i];
        const Work& work = step.analysis.work.kernels[i].work;
        if (law == nullptr && !(work.compute.empty() && work.memory.empty())) return std::nullopt;
        if (law == nullptr) continue;
        parts.launches += runs[i].count;
        (narrow(law->key) ? parts.narrow_s : parts.kernels_s) += runs[i].count * seconds_of(law->fit, runs[i].point);
    }
    if (!(parts.kernels_s + parts.narrow_s > 0)) return std::nullopt;
    for (std::size_t i = 0; i < step.analysis.total.work.messages.size(); ++i) {
        const auto message = seconds_of_message(step, i);
        if (!message) return std::nullopt;
        const Message& what = step.analysis.total.work.messages[i].message;
        const bool hideable = has(what.axes, "data") || has(what.axes, "fsdp");
        double& part = hideable ? (message->calibrated ? parts.hideable_s : parts.hideable_wire_s)
                                : (message->calibrated ? parts.exchanged_s : parts.exchanged_wire_s);
        part += message->seconds;
    }
    return parts;
}

}  // namespace roofline
