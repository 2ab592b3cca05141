// On which chips the experts of a layer lie, and the work of the busiest of these chips.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "model/expert_routing.hpp"
#include "plan/plan.hpp"

namespace roofline::core {

/// Experts that are shared out evenly among chips, of which the busiest one decides the time.
struct SharedExperts {
    double experts = 0;  ///< number of all experts, without replicas
    double choices = 0;  ///< experts per token
    double chips = 1;    ///< that share them
};

/// The work of the busiest chip, as if all had as much.
struct ExpertWork {
    double read = 0;  ///< experts that are read on all chips
    double rows = 0;  ///< of each of these
};

/// Returns the number of chips among which a plan shares out the experts.
[[nodiscard]] double expert_chips(const Plan& plan);

/// Returns the experts of the model's first dispatch, and the chips of the plan that share them.
[[nodiscard]] std::vector<SharedExperts> shared_experts(const Program& model, const Plan& plan);

/// Checks that chips can hold the replicas of a routing: they share the experts, each as many. Errors
/// (`bad_redundant_experts`): chips share none; their number does not divide that of experts and replicas, and the
/// nearest number of replicas with which it does is named.
[[nodiscard]] Status check_placement(const ExpertRouting& routing, const SharedExperts& experts);

/// The experts of a layer on their chips.
class PlacedExperts {
public:
    /// Places experts that passed check_routing() and check_placement().
    /// - Without redundant experts they lie in the order of ids, as many on each chip. Measured popularities have ids;
    ///   those of Zipf's law are assigned to ids at random. Of 1000 such placements that one is taken whose most
    ///   popular chip is nearest to the mean of all 1000: layers differ, and their times add up, so the mean counts.
    ///   (Popularities are too skewed for a normal distribution: a few experts make most of the largest sum.)
    /// - With redundant experts, also 0 of them, replicas are placed as EPLB does (balanced_packing()): in the order of
    ///   decreasing load, each on the chip with the least load among those that have room.
    PlacedExperts(const ExpertRouting& routing, const SharedExperts& experts);

    /// Returns the expected work of the busiest chip for n tokens. The routes to a chip have the mean m = n (sum of its
    /// experts' chances) and about the variance of a Poisson distribution, m; the experts that are read on it are a sum
    /// of independent choices. The maximum over g chips is taken as the quantile ((g - 0.375) / (g + 0.25))^g of the
    /// maximum of independent normal numbers; for chips that are alike this is Blom's approximation (1958), the
    /// quantile (g - 0.375) / (g + 0.25) of one of them. If `balancedness` is positive it is the mean over the largest
    /// number of routes to a chip, in place of popularity and chance.
    [[nodiscard]] ExpertWork busiest_chip(double tokens, double balancedness) const;

    /// Returns the expected mean over the largest number of routes of n tokens to a chip.
    [[nodiscard]] double balancedness(double tokens) const;

    /// Returns the largest over the mean popularity of the experts of a chip; 1 if chips are alike.
    [[nodiscard]] double imbalance() const;

    /// Expected number of experts that n tokens read on all chips.
    [[nodiscard]] double read(double tokens) const { return expected_experts(replicas_, experts_.choices, tokens); }
    [[nodiscard]] double chips() const { return experts_.chips; }

private:
    /// Chips with the same experts.
    struct Chips {
        double count = 1;
        std::vector<RoutedReplicas> held{};  ///< by one of them
        double load = 0;                     ///< sum of the chances of its experts: routes per token
    };

    [[nodiscard]] double most_routes(double tokens) const;

    SharedExperts experts_;
    std::vector<RoutedReplicas> replicas_;
    std::vector<Chips> chips_;
};

}  // namespace roofline::core
