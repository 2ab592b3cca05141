#include "plan/training_cost.hpp"

#include "plan/training_peak.hpp"

namespace roofline::core {

double TrainingDemand::utilization(double tokens, double seconds) const {
    return tokens * flops_per_token / (seconds * peak * static_cast<double>(chips));
}

double TrainingDemand::seconds(double tokens, double utilization) const {
    return tokens * flops_per_token / (utilization * peak * static_cast<double>(chips));
}

double training_flops_per_token(const ModelCounts& counts) { return counts.total.training.to_double(); }

Result<TrainingDemand> training_demand(const ModelCounts& counts, const Machine& machine, std::int64_t chips) {
    ROOFLINE_TRY(const auto peak, training_peak(machine, std::nullopt));
    return TrainingDemand{training_flops_per_token(counts), peak.rate, chips};
}

TrainingCost training_cost(const TrainingDemand& demand, std::int64_t tokens, double tokens_per_s,
                           const std::optional<Price>& price) {
    TrainingCost cost;
    cost.tokens = tokens;
    cost.flops = static_cast<double>(tokens) * demand.flops_per_token;
    cost.seconds = static_cast<double>(tokens) / tokens_per_s;
    const double chip_seconds = cost.seconds * static_cast<double>(demand.chips);
    cost.chip_hours = chip_seconds / 3600;
    if (price) cost.usd = chip_seconds * price->value;
    return cost;
}

}  // namespace roofline::core
