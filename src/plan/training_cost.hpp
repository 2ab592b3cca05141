// The duration and cost of a training run, from the time or the utilization of a step.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.hpp"
#include "machine/machine.hpp"
#include "model/account.hpp"

namespace roofline::core {

/// The FLOPs that a model needs and the rate of the chips that train it.
struct TrainingDemand {
    double flops_per_token = 0;  ///< forward and backward, without recomputation
    double peak = 0;             ///< FLOP/s of one chip
    std::int64_t chips = 1;

    /// Returns the model FLOPs utilization of a step with this many tokens (PaLM, arXiv 2204.02311, appendix B): the
    /// model's FLOPs over those that the chips could have done in that time.
    [[nodiscard]] double utilization(double tokens, double seconds) const;
    /// Returns the seconds that this many tokens take at that utilization.
    [[nodiscard]] double seconds(double tokens, double utilization) const;
};

/// Returns the FLOPs per token of training: 6 for each parameter that multiplies, 4 if it is frozen, and three times
/// the forward FLOPs of attention and recurrences, averaged over the sequence, with causal planes counted half. What
/// needs no gradient because nothing before it is trained counts once.
[[nodiscard]] double training_flops_per_token(const ModelCounts& counts);

/// Returns the demand of a model on chips of a machine. The peak is that of bf16 matmuls, or of the dtype that replaces
/// bf16. Errors: a machine that computes in no dtype of that width.
[[nodiscard]] Result<TrainingDemand> training_demand(const ModelCounts& counts, const Machine& machine,
                                                     std::int64_t chips);

/// The cost of a whole training run.
struct TrainingCost {
    std::int64_t tokens = 0;
    double flops = 0;  ///< of the model
    double seconds = 0;
    double chip_hours = 0;
    std::optional<double> usd;  ///< empty if the chip has no price
};

[[nodiscard]] TrainingCost training_cost(const TrainingDemand& demand, std::int64_t tokens, double tokens_per_s,
                                         const std::optional<Price>& price);

}  // namespace roofline::core
