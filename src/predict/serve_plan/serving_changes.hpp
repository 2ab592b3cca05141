// What would change the answer of a search for set-ups of servers: how sensitive the best one is to each figure, where
// another one beats it, and which targets would let a better one pass.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "predict/plan/plan_changes.hpp"
#include "predict/serve_plan/serving_set_up.hpp"

namespace roofline::core {

struct ServingSearch;

/// A value of a figure beyond which another set-up is better than the best one. Both keep their requests in flight.
struct ServingFlip {
    std::string path;
    double factor = 1;    ///< of the figure
    std::string at;       ///< its value, "230 GB/s"
    ServingPlan other{};  ///< as the machine is
};

/// A set-up that is better than the best one and misses a target.
struct BetterServing {
    ServingPlan plan;
    std::optional<double> ttft_s{};  ///< the target that it needs; empty: it meets the one that there is
    std::optional<double> tpot_s{};
    double gain = 0;  ///< how much less it needs for a token than the best one, as a fraction
};

struct ServingChanges {
    std::vector<Elasticity> elasticities{};  ///< d log(tokens/s) / d log(figure), the greatest first
    std::vector<ServingFlip> flips{};        ///< the nearest first
};

/// Returns what is to be least, per token: USD if the search is for the least cost, else chips.
[[nodiscard]] double per_token(const ServingSearch& search, const ServingPlan& plan);

/// Returns the share of measured pairs of set-ups at one target in which the one that is expected to be better was the
/// better one, where their expected tokens/s per chip differ by this factor (docs/method/planning.md).
[[nodiscard]] double share_of_set_ups_in_order(double factor);

/// Returns what changes the best set-up of a search, whose question is `job`. Each figure of the machine, the tokens of
/// prompts and outputs and the requests in flight are raised by 5 % and the set-up simulated again. Where the slopes
/// say that one of two others, which is no near-tie, may become as good within a factor of four of a figure, the factor
/// is found by simulating both there.
[[nodiscard]] ServingChanges serving_changes(const ServingSearch& search, const ServeQuestion& job,
                                             const ServingPlan& best, std::span<const ServingPlan> others,
                                             const std::shared_ptr<Calibrations>& calibrations);

/// Returns set-ups among these that are better than the best one, but miss targets, those that come nearest first. None
/// is behind another one in both.
[[nodiscard]] std::vector<BetterServing> better_beyond_targets(const ServingSearch& search, const ServingPlan& best,
                                                               std::span<const ServingPlan> all);

}  // namespace roofline::core
