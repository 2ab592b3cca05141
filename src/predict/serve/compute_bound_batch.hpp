// The critical batch size of a decode step.
#pragma once

#include "model/model.hpp"
#include "model/weights.hpp"
#include "predict/serve/serve_answer.hpp"

namespace roofline::core {

/// Returns whether tokens are routed to experts. The number of tokens per expert grows with the batch, but not as a
/// polynomial of it.
[[nodiscard]] bool has_experts(const Program& program);

/// Returns the critical batch sizes. `step` and `weights` are solved from the polynomials of a priced decode step whose
/// batch has no size; a model with experts has none. `textbook` is peak FLOP/s over bandwidth, times the bytes per
/// weight, over the 2 FLOPs per weight; with experts also times the number of all experts over those of one token ("How
/// to Scale Your Model", chapter 7).
[[nodiscard]] ComputeBoundBatch compute_bound_batch(const Model& model, const WeightBytes& weights,
                                                    const Prediction& decode);

}  // namespace roofline::core
