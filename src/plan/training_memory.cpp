#include "plan/training_memory.hpp"

#include <algorithm>
#include <map>

namespace roofline::core {

namespace {

double& share_of(TrainingMemory& memory, StepRole role) {
    switch (role) {
        case StepRole::param:
            return memory.params;
        case StepRole::gradient:
            return memory.gradients;
        case StepRole::optimizer_state:
            return memory.optimizer;
        case StepRole::activation:
            break;
    }
    return memory.activations;
}

Polynomial elements_of(const Program& program, const StepTensor& tensor) {
    const LocalDims& dims = program.local_dims;
    Polynomial product = elements(dims, tensor.repeats);
    for (const Axis& axis : program.values[tensor.value].type.axes)
        product *= Polynomial::symbol(dims.symbol(axis.dim));
    return product;
}

// The f32 copies of gradients of narrower dtypes that a chip holds.
Result<double> copied_gradient_bytes(const TrainingProgram& step, const std::vector<TensorType>& types,
                                     const System& system) {
    constexpr double f32 = 4;
    double bytes = 0;
    for (const StepTensor& tensor : step.tensors) {
        if (tensor.role != StepRole::gradient) continue;
        if (step.program.values[tensor.value].type.dtype == Dtype::f32) continue;
        const auto number = elements_of(step.program, tensor).evaluate(step.program.sizes);
        if (!number) return fail("no_size", "the bytes of gradients cannot be counted");
        bytes +=
            f32 * number->to_double() / (tensor.value < types.size() ? holders_of(types[tensor.value], system) : 1);
    }
    return bytes;
}

Result<double> unfused_bytes(const TrainingProgram& step, const std::vector<TensorType>& types, const System& system) {
    double bytes = 0;
    for (const auto& [tensor, per_element] : unfused_tensors(step)) {
        const auto number = elements_of(step.program, *tensor).evaluate(step.program.sizes);
        if (!number) return fail("no_size", "the bytes of an optimizer cannot be counted");
        const double ways = tensor->value < types.size() ? holders_of(types[tensor->value], system) : 1;
        bytes += number->to_double() / ways * per_element;
    }
    return bytes;
}

}  // namespace

std::vector<std::pair<const StepTensor*, double>> unfused_tensors(const TrainingProgram& step) {
    constexpr double f32 = 4;
    std::map<ValueId, double> copied;  // by parameter
    for (const StepTensor& tensor : step.tensors) {
        if (tensor.role != StepRole::gradient || !tensor.param) continue;
        copied[*tensor.param] = step.program.values[tensor.value].type.dtype == Dtype::f32 ? 0 : f32;
    }
    std::vector<std::pair<const StepTensor*, double>> tensors;
    for (const StepTensor& tensor : step.tensors) {
        if (tensor.role != StepRole::optimizer_state || !tensor.param) continue;
        const auto gradient = copied.find(*tensor.param);
        if (gradient == copied.end()) continue;  // counted with another of its states
        tensors.emplace_back(&tensor, gradient->second + 2 * f32);
        copied.erase(gradient);
    }
    return tensors;
}

Result<TrainingMemory> training_memory(const TrainingProgram& step, const Program& local,
                                       const std::vector<TensorType>& types, const System& system,
                                       const InFlight& in_flight, const FrameworkHabits& habits,
                                       const StayingAxes& stay) {
    TrainingMemory memory;
    for (const StepTensor& tensor : step.tensors) {
        if (tensor.role == StepRole::activation) continue;
        // A program on one chip has no layout.
        const bool split = tensor.value < types.size();
        const Value& value = step.program.values[tensor.value];
        const LocalDims& dims = step.program.local_dims;
        const auto number = (bytes_of(dims, value) * elements(dims, tensor.repeats)).evaluate(step.program.sizes);
        if (!number) {
            return fail("no_size", "the bytes of `" + value_name(step.program, tensor.value) + "` cannot be counted");
        }
        const double ways = split ? holders_of(types[tensor.value], system) : 1;
        share_of(memory, tensor.role) += number->to_double() / ways;
    }
    ROOFLINE_TRY(auto live, live_memory(step, local, in_flight, habits));
    if (habits.fsdp_units) {
        ROOFLINE_TRY(const auto units, unit_memory(step, types, stay, system));
        live.peak += units.held;
        memory.extra_reserved += units.extra_reserved;
    }
    if (habits.stored_casts) {
        ROOFLINE_TRY(const auto left, block_left_by_cast(local));
        memory.extra_reserved += left;
    }
    memory.activations = live.kept;
    double peak = live.peak;
    if (habits.copied_norm) {  // uses blocks of former activations, as far as they suffice
        ROOFLINE_TRY(const auto copies, copied_gradient_bytes(step, types, system));
        memory.extra_reserved += std::max(copies - peak, 0.0);
    }
    if (habits.unfused) {  // activations are freed when the optimizer runs, but their blocks are not
        ROOFLINE_TRY(const auto optimizer, unfused_bytes(step, types, system));
        memory.extra_reserved += std::min(peak, optimizer);
        peak = std::max(peak, optimizer);
    }
    memory.working = std::max(peak - live.kept, 0.0);
    if (habits.flat_optimizer) memory.extra_reserved += memory.gradients;
    memory.reserved = habits.reserved;
    memory.context_bytes = habits.context_bytes;
    const MemoryLevel* hbm = system.machine().level("hbm");
    if (hbm != nullptr) {
        if (const auto capacity = hbm->total_capacity()) memory.capacity = capacity->value;
    }
    return memory;
}

}  // namespace roofline::core
