#include "plan/training_memory.hpp"

#include <algorithm>

namespace roofline {

namespace {

// Chips that share a tensor.
std::int64_t holders(const TensorType& type, const System& system) {
    std::int64_t ways = 1;
    for (const Axis& axis : type.axes) {
        for (const std::string& name : axis.mesh) {
            const PlacedAxis* placed = system.axis(name);
            if (placed != nullptr) ways *= placed->size;
        }
    }
    return ways;
}

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

}  // namespace

Result<TrainingMemory> training_memory(const TrainingProgram& step, const Program& local,
                                       const std::vector<TensorType>& types, const System& system,
                                       const InFlight& in_flight) {
    TrainingMemory memory;
    for (const StepTensor& tensor : step.tensors) {
        if (tensor.role == StepRole::activation) continue;
        // of a program on one chip nothing is laid out
        const bool split = tensor.value < types.size();
        const Value& value = step.program.values[tensor.value];
        const auto number = (bytes_of(value) * elements(tensor.repeats)).evaluate(step.program.sizes);
        if (!number) {
            return fail("no_size", "what `" + value_name(step.program, tensor.value) + "` takes cannot be counted");
        }
        const double ways = split ? static_cast<double>(holders(types[tensor.value], system)) : 1;
        share_of(memory, tensor.role) += number->to_double() / ways;
    }
    const auto live = live_memory(step, local, in_flight);
    if (!live) return fail(live.error());
    memory.activations = live->kept;
    memory.working = std::max(live->peak - live->kept, 0.0);
    const MemoryLevel* hbm = system.machine().level("hbm");
    if (hbm != nullptr) {
        if (const auto capacity = hbm->total_capacity()) memory.capacity = capacity->value;
    }
    return memory;
}

}  // namespace roofline
