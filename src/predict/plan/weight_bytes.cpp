#include "predict/plan/weight_bytes.hpp"

namespace roofline::core {

namespace {

bool is_of_experts(const Model& model, const Value& value) {
    if (value.type.axes.size() < 2) return false;
    const auto role = model.roles.find(value.type.axes.front().dim);
    return role != model.roles.end() && role->second == "experts";
}

double bytes_on_chip(const StateBytes& all, double ways, double replicas, int zero) {
    const double shares = ways * replicas;
    return all.params / (zero >= 3 ? shares : ways) + all.gradients / (zero >= 2 ? shares : ways) +
           all.states / (zero >= 1 ? shares : ways);
}

}  // namespace

Result<ModelWeights> weights_in_training(const Model& model, const TrainingOptions& options) {
    ROOFLINE_TRY(const auto with, with_loss(model.program, options.f32_logits));
    ROOFLINE_TRY(const auto step, training_step(with, options));
    ModelWeights weights;
    for (const StepTensor& tensor : step.tensors) {
        if (tensor.role == StepRole::activation) continue;
        const Value& value = step.program.values[tensor.value];
        const LocalDims& dims = step.program.local_dims;
        const auto bytes = (bytes_of(dims, value) * elements(dims, tensor.repeats)).evaluate(step.program.sizes);
        if (!bytes) return fail("no_size", "the bytes of a parameter cannot be counted");
        StateBytes& kind = is_of_experts(model, value) ? weights.experts : weights.shared;
        double& role = tensor.role == StepRole::param      ? kind.params
                       : tensor.role == StepRole::gradient ? kind.gradients
                                                           : kind.states;
        role += bytes->to_double();
    }
    return weights;
}

double least_weight_bytes(const ModelWeights& weights, const Plan& plan) {
    // the fullest stage has at least the mean of all
    const auto ways = static_cast<double>(plan.pipeline * plan.fsdp * plan.tensor);
    const auto expert = static_cast<double>(plan.expert);
    const auto same_experts = static_cast<double>(plan.data * plan.context * plan.sequence);
    return bytes_on_chip(weights.shared, ways, same_experts * expert, plan.zero) +
           bytes_on_chip(weights.experts, ways * expert, same_experts, plan.zero);
}

}  // namespace roofline::core
