#include "predict/serve/compute_bound_batch.hpp"

#include <algorithm>

namespace roofline::core {

namespace {

std::optional<double> whole_or_never(const std::optional<Crossing>& crossing) {
    if (!crossing) return std::nullopt;
    if (crossing->state == Crossing::State::always) return 1;
    return crossing->state == Crossing::State::crossing && crossing->above ? crossing->root : std::nullopt;
}

bool multiplies_weights(const Prediction& pass, const KernelWork& kernel) {
    return std::any_of(kernel.statements.begin(), kernel.statements.end(), [&](const Statement* statement) {
        return std::any_of(statement->ops.begin(), statement->ops.end(), [&](const Op& op) {
            return op.kind == OpKind::contract &&
                   std::any_of(op.inputs.begin(), op.inputs.end(),
                               [&](const Operand& input) { return pass.local->values[input.value].param; });
        });
    });
}

void append(WeightedSum& sum, const Resource* resource) {
    if (resource == nullptr) return;
    const WeightedSum more = resource->time();
    sum.insert(sum.end(), more.begin(), more.end());
}

std::optional<double> weights_crossing(const Prediction& decode) {
    WeightedSum math;
    WeightedSum memory;
    const std::vector<Analysis>& kernels = decode.analysis.kernels;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        if (!multiplies_weights(decode, decode.analysis.work.kernels[i])) continue;
        append(math, kernels[i].pricing.find("math"));
        append(memory, kernels[i].pricing.find("hbm"));
    }
    return whole_or_never(solve_crossing(math, memory, "B", decode.program.sizes));
}

std::optional<double> step_crossing(const Prediction& decode) {
    WeightedSum math;
    WeightedSum memory;
    append(math, decode.analysis.total.pricing.find("math"));
    append(memory, decode.analysis.total.pricing.find("hbm"));
    return whole_or_never(solve_crossing(math, memory, "B", decode.program.sizes));
}

const Op* find_dispatch(const Block& block) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            if (const Op* found = find_dispatch(*inner)) return found;
            continue;
        }
        for (const Op& op : std::get<Statement>(node).ops) {
            if (op.kind == OpKind::apply && op.function == "dispatch") return &op;
        }
    }
    return nullptr;
}

/// Number of experts per expert that a token is sent to; 1 without experts.
double experts_per_choice(const Program& program) {
    const Op* dispatch = find_dispatch(program.body);
    if (dispatch == nullptr) return 1;
    const auto size = [&](const std::string& dim) {
        const auto found = program.sizes.find(dim);
        return found == program.sizes.end() ? 1.0 : static_cast<double>(found->second);
    };
    double choices = 1;
    for (const std::string& dim : dispatch->inputs[1].dims) {
        if (!has(dispatch->inputs[0].dims, dim)) choices *= size(dim);
    }
    return size(dispatch->along[0]) / choices;
}

std::optional<double> textbook(const Model& model, const WeightBytes& weights, const Prediction& decode) {
    const Resource* math = decode.analysis.total.pricing.find("math");
    const Resource* memory = decode.analysis.total.pricing.find("hbm");
    if (math == nullptr || memory == nullptr || math->terms.empty() || memory->terms.empty()) return std::nullopt;
    double elements = 0;
    for (const auto& entry : weights.by_format) elements += entry.second.params.to_double();
    if (!(elements > 0)) return std::nullopt;
    const double ridge = math->terms.front().rate.value / memory->terms.front().rate.value;
    const auto queries = static_cast<double>(decode.program.sizes.at("T"));  // of each sequence
    return ridge * weights.total.to_double() / elements / 2 * experts_per_choice(model.program) / queries;
}

}  // namespace

bool has_experts(const Program& program) { return find_dispatch(program.body) != nullptr; }

ComputeBoundBatch compute_bound_batch(const Model& model, const WeightBytes& weights, const Prediction& decode) {
    ComputeBoundBatch batch;
    if (!has_experts(model.program)) {
        batch.step = step_crossing(decode);
        batch.weights = weights_crossing(decode);
    }
    batch.textbook = textbook(model, weights, decode);
    return batch;
}

}  // namespace roofline::core
