// From which batch on a decode step computes longer than it loads.
#pragma once

#include "model/model.hpp"
#include "model/weights.hpp"
#include "predict/serve/serve_answer.hpp"

namespace roofline::core {

/// Whether tokens are sent to experts: their groups grow with the batch, though not as a polynomial of it.
[[nodiscard]] bool has_experts(const Program& program);

/// Solved from the polynomials of a priced decode step, its batch open, but for experts; and by heart: FLOP/s over
/// bytes/s, times the bytes of a weight, over the 2 FLOPs that it takes part in, and with experts times those of all
/// over those of one token ("How to Scale Your Model", chapter 7).
[[nodiscard]] ComputeBoundBatch compute_bound_batch(const Model& model, const WeightBytes& weights,
                                                    const Prediction& decode);

}  // namespace roofline::core
