// The least memory of weights and optimizer states under a plan, from which a plan is rejected before it is compiled.
#pragma once

#include "base/result.hpp"
#include "model/model.hpp"
#include "plan/plan.hpp"
#include "program/adjoint.hpp"

namespace roofline::core {

/// Bytes of all chips together, each counted once.
struct StateBytes {
    double params = 0;
    double gradients = 0;
    double states = 0;
};

/// The weights of a model, those of experts apart.
struct ModelWeights {
    StateBytes shared;
    StateBytes experts;
};

/// Errors: those of training_step().
[[nodiscard]] Result<ModelWeights> weights_in_training(const Model& model, const TrainingOptions& options);

/// Returns bytes that some chip holds at least, if a plan could split every tensor over all its axes that split any.
[[nodiscard]] double least_weight_bytes(const ModelWeights& weights, const Plan& plan);

}  // namespace roofline::core
