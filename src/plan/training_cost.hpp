// How long a training run takes and what it costs, from the time or the utilisation of a step.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.hpp"
#include "machine/machine.hpp"
#include "model/account.hpp"

namespace roofline::core {

/// What a model asks of the chips that train it, whatever they compute besides.
struct TrainingDemand {
    double flops_per_token = 0;  ///< forward and backward; nothing that is computed again
    double peak = 0;             ///< FLOP/s of one chip
    std::int64_t chips = 1;

    /// Model FLOPs utilisation of a step of so many tokens (PaLM, arXiv 2204.02311, appendix B): the model's FLOPs over what the chips
    /// could have done in that time.
    [[nodiscard]] double utilisation(double tokens, double seconds) const;
    /// Seconds that so many tokens take at that utilisation.
    [[nodiscard]] double seconds(double tokens, double utilisation) const;
};

/// FLOPs of one token of training: 6 for each parameter that multiplies, and three times what attention and recurrences do
/// forward, averaged over the sequence, causal planes counted half.
[[nodiscard]] double training_flops_per_token(const ModelCounts& counts);

/// The demand of a model on chips of a machine, whose peak is that of bf16 products or of what stands in for them. Errors: a machine
/// that computes nothing wide enough.
[[nodiscard]] Result<TrainingDemand> training_demand(const ModelCounts& counts, const Machine& machine,
                                                     std::int64_t chips);

/// Of a whole training run.
struct TrainingCost {
    std::int64_t tokens = 0;
    double flops = 0;  ///< of the model
    double seconds = 0;
    double chip_hours = 0;
    std::optional<double> usd;  ///< none where the chip has no price
};

[[nodiscard]] TrainingCost training_cost(const TrainingDemand& demand, std::int64_t tokens, double tokens_per_s,
                                         const std::optional<Price>& price);

}  // namespace roofline::core
