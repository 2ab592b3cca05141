#include "program/weight_arithmetic.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "program/adapters.hpp"
#include "program/functions.hpp"

namespace roofline::core {

namespace {

// Parts of a model whose matmuls recipes keep in 16 bits: there are few of them, and their errors affect all layers.
// Adapters, too: NeMo's are plain layers of Megatron-LM beside those of Transformer Engine (ParallelLinearAdapter).
constexpr std::array<std::string_view, 4> kept_parts{"embedding", "head", "router", adapter_part};

class WeightArithmetic {
public:
    WeightArithmetic(TrainingProgram& step, Dtype dtype)
        : values_(step.program.values), dtype_(dtype), arithmetic_(info(dtype).arithmetic) {
        // A gradient is declared and then assigned, so two values have its name.
        for (const StepTensor& tensor : step.tensors) {
            if (tensor.role != StepRole::gradient) continue;
            gradients_.emplace(values_[tensor.value].name, tensor.param.value_or(tensor.value));
        }
    }

    void change(std::vector<Node>& nodes) {
        for (Node& node : nodes) {
            if (auto* block = std::get_if<Block>(&node)) change(block->nodes);
            if (auto* statement = std::get_if<Statement>(&node)) change(*statement);
        }
    }

private:
    void change(Statement& statement) {
        const auto gradient = gradients_.find(values_[statement.result].name);
        const bool makes = gradient != gradients_.end() && !kept(gradient->second);
        for (Op& op : statement.ops) {
            if (op.kind != OpKind::contract) continue;
            const bool reads = std::any_of(op.inputs.begin(), op.inputs.end(), [&](const Operand& operand) {
                return values_[operand.value].param && !kept(operand.value);
            });
            if (!makes && !reads) continue;
            op.arithmetic = arithmetic_;
            statement.using_dtype = dtype_;
        }
    }

    [[nodiscard]] bool kept(ValueId param) const { return stays_wide(values_[param].part); }

    const std::vector<Value>& values_;
    Dtype dtype_;
    Dtype arithmetic_;
    std::map<std::string, ValueId> gradients_;  ///< by name, with their parameters
};

void dispatch_in(TrainingProgram& step, std::vector<Node>& nodes, Dtype dtype) {
    for (Node& node : nodes) {
        if (auto* block = std::get_if<Block>(&node)) {
            dispatch_in(step, block->nodes, dtype);
            continue;
        }
        for (const Op& op : std::get<Statement>(node).ops) {
            if (op.kind != OpKind::apply || find_function(op.function)->kind != FunctionKind::dispatch) continue;
            step.program.values[op.output.value].type.dtype = dtype;
        }
    }
}

}  // namespace

bool stays_wide(std::string_view part) {
    return std::find(kept_parts.begin(), kept_parts.end(), part) != kept_parts.end();
}

void dispatch_in(TrainingProgram& step, Dtype dtype) { dispatch_in(step, step.program.body.nodes, dtype); }

void compute_weights_in(TrainingProgram& step, Dtype dtype) {
    WeightArithmetic(step, dtype).change(step.program.body.nodes);
}

}  // namespace roofline::core
