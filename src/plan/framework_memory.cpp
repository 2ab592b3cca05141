#include "plan/framework_memory.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <variant>

namespace roofline::core {

namespace {

double size_of(const std::string& name, const System& system) {
    const PlacedAxis* placed = system.axis(name);
    return placed != nullptr ? static_cast<double>(placed->size) : 1;
}

// The number of chips that hold different parts of a tensor even where it is gathered.
double parts_of(ValueId id, const TensorType& type, const StayingAxes& stay, const System& system) {
    const auto staying = stay.find(id);
    if (staying == stay.end()) return 1;
    double parts = 1;
    for (const Axis& axis : type.axes) {
        for (const std::string& name : axis.mesh) {
            const auto& names = staying->second;
            if (std::find(names.begin(), names.end(), name) != names.end()) parts *= size_of(name, system);
        }
    }
    return parts;
}

std::optional<double> bytes_in(const Program& program, ValueId id, const std::vector<std::string>& times) {
    const LocalDims& dims = program.local_dims;
    const auto bytes = (bytes_of(dims, program.values[id]) * elements(dims, times)).evaluate(program.sizes);
    return bytes ? std::optional(bytes->to_double()) : std::nullopt;
}

// Groups of parameters that are gathered together.
struct Units {
    double root = 0;
    std::map<std::vector<std::string>, double> layers;  ///< by the repeats that contain them
    std::vector<std::string> last;                      ///< repeats of the last parameter that is in a repeat
    bool shared_out = false;

    [[nodiscard]] double last_layer() const {
        const auto found = layers.find(last);
        return found == layers.end() ? 0 : found->second;
    }
    [[nodiscard]] double largest_layer() const {
        double most = 0;
        for (const auto& [repeats, bytes] : layers) most = std::max(most, bytes);
        return most;
    }
};

// Collects statements that only convert their operand.
void collect_casts(const Block& block, std::vector<const Statement*>& casts, std::map<ValueId, int>& reads) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            collect_casts(*inner, casts, reads);
            continue;
        }
        const auto& statement = std::get<Statement>(node);
        for (const Op& op : statement.ops) {
            for (const Operand& input : op.inputs) ++reads[input.value];
        }
        if (statement.ops.size() == 1 && statement.ops.front().kind == OpKind::move) casts.push_back(&statement);
    }
}

// Returns the operand if a separate statement converted it to that value, otherwise the value itself: a model returns
// logits before a loss converts them.
ValueId converted_from(const Program& program, ValueId id) {
    std::vector<const Statement*> casts;
    std::map<ValueId, int> reads;
    collect_casts(program.body, casts, reads);
    const auto made =
        std::find_if(casts.begin(), casts.end(), [&](const Statement* cast) { return cast->result == id; });
    return made == casts.end() ? id : (*made)->ops.front().inputs.front().value;
}

}  // namespace

double holders_of(const TensorType& type, const System& system) {
    double ways = 1;
    for (const Axis& axis : type.axes) {
        for (const std::string& name : axis.mesh) ways *= size_of(name, system);
    }
    return ways;
}

Result<FrameworkMemory> unit_memory(const TrainingProgram& step, const std::vector<TensorType>& types,
                                    const StayingAxes& stay, const System& system) {
    Units units;
    std::map<ValueId, double> holders;       // of parameters
    std::map<ValueId, double> state_shares;  // of parameters: number of chips that shard their states
    std::vector<const StepTensor*> gradients;
    for (const StepTensor& tensor : step.tensors) {
        if (tensor.value >= types.size()) continue;
        const TensorType& type = types[tensor.value];
        if (tensor.role == StepRole::gradient) gradients.push_back(&tensor);
        if (tensor.role == StepRole::optimizer_state && tensor.param) {
            state_shares[*tensor.param] = holders_of(type, system);
        }
        if (tensor.role != StepRole::param) continue;
        const auto bytes = bytes_in(step.program, tensor.value, {});
        if (!bytes) return fail("no_size", "the bytes of a unit of parameters cannot be counted");
        const double whole = *bytes / parts_of(tensor.value, type, stay, system);
        holders[tensor.value] = holders_of(type, system);
        units.shared_out = units.shared_out || *bytes / holders[tensor.value] < whole;
        if (tensor.repeats.empty()) {
            units.root += whole;
        } else {
            units.layers[tensor.repeats] += whole;
            units.last = tensor.repeats;
        }
    }
    FrameworkMemory memory;
    if (units.shared_out) memory.held = units.root + units.last_layer();
    for (const StepTensor* gradient : gradients) {
        if (!gradient->param || !state_shares.contains(*gradient->param)) continue;
        const double shares = state_shares[*gradient->param];
        if (shares <= holders_of(types[gradient->value], system)) continue;
        const auto bytes = bytes_in(step.program, gradient->value, gradient->repeats);
        if (!bytes) return fail("no_size", "the bytes of gradients cannot be counted");
        memory.extra_reserved += *bytes / shares;
    }
    if (units.shared_out || memory.extra_reserved > 0)
        memory.extra_reserved += std::max(units.root, 2 * units.largest_layer());
    return memory;
}

std::optional<ValueId> logits_of(const Block& block) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            if (const auto found = logits_of(*inner)) return found;
            continue;
        }
        const auto& statement = std::get<Statement>(node);
        const Op& op = statement.ops.front();
        if (statement.part == "loss" && op.kind == OpKind::apply && op.function == "logsumexp") {
            return op.inputs.front().value;
        }
    }
    return std::nullopt;
}

std::optional<PipelineBuffers> pipeline_buffers_of(const Program& local) {
    const auto handed = std::find_if(local.values.begin(), local.values.end(),
                                     [](const Value& value) { return value.carried && !value.intermediate; });
    const auto read = logits_of(local.body);
    if (handed == local.values.end()) return std::nullopt;
    const auto input = static_cast<ValueId>(handed - local.values.begin());
    return PipelineBuffers{input, read ? converted_from(local, *read) : input, !read};
}

Result<double> pipeline_buffer_bytes(const Program& local, bool first, double microbatches, double in_flight) {
    const auto buffers = pipeline_buffers_of(local);
    if (!buffers) return 0;
    const auto input = bytes_of(local.local_dims, local.values[buffers->input]).evaluate(local.sizes);
    const auto out = bytes_of(local.local_dims, local.values[buffers->output]).evaluate(local.sizes);
    if (!input || !out) return fail("no_size", "the bytes sent between stages cannot be counted");
    const double received = first ? 0 : std::max(microbatches - in_flight, 0.0) * input->to_double();
    const double gradients = buffers->gradients ? microbatches * out->to_double() : 0;
    return received + gradients + microbatches * out->to_double();
}

Result<double> block_left_by_cast(const Program& local) {
    std::vector<const Statement*> casts;
    std::map<ValueId, int> reads;
    collect_casts(local.body, casts, reads);
    double most = 0;
    for (const Statement* cast : casts) {
        const ValueId from = cast->ops.front().inputs.front().value;
        const Value& value = local.values[from];
        const bool wider = info(local.values[cast->result].type.dtype).bits > info(value.type.dtype).bits;
        if (!wider || value.param || value.cache || reads[from] > 1) continue;
        const auto bytes = bytes_in(local, from, {});
        if (!bytes) return fail("no_size", "the bytes of a conversion cannot be counted");
        most = std::max(most, *bytes);
    }
    return most;
}

}  // namespace roofline::core
