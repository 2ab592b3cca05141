// Typed question and answer of `roofline plan train`: the best plan of a training job, the others beside it, and what
// would change the answer.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "plan/plan_space.hpp"
#include "predict/plan/plan_changes.hpp"
#include "predict/plan/plan_search.hpp"
#include "predict/train/train.hpp"

namespace roofline::core {

struct PlanQuestion {
    TrainQuestion train;  ///< the plan, recomputation, micro-batches and schedule of its set-up are searched
    PlanSpace space;      ///< its sizes are those of the model, the batch and the slice
    PlanSearch search{};
    std::size_t shown = 8;  ///< plans of different degrees
    PlanKeep keep = PlanKeep::fastest;
    double limit_s = std::numeric_limits<double>::infinity();  ///< see PlanJob
    std::shared_ptr<Calibrations> calibrations{};              ///< of this slice alone; null: those of the question
};

/// The result of a search, and the best plans that it found, each laid out by itself.
struct SearchedPlans {
    FoundPlans found;
    std::vector<TrainAnswer> alone{};  ///< plans that fit, fastest first; empty if none does
};

/// A plan beside the best one.
struct PlanBeside {
    TrainAnswer answer;
    /// The share of measured pairs of plans whose expected times differ as much as this one's from the best, and of
    /// which the faster one was named; empty without expected times.
    std::optional<double> sure{};
};

/// What a plan would need that does not fit.
struct LargerPlan {
    TrainAnswer answer;
    double bytes = 0;  ///< that a chip lacks
    double gain = 0;   ///< the part of the best plan's time that it saves
};
struct PlanAnswer {
    TrainAnswer best;  ///< if nothing fits, the plan that needs the least memory
    bool fits = true;
    /// The first one of each set of degrees of SearchedPlans::alone, the best plan among them.
    std::vector<PlanBeside> plans;
    std::vector<LargerPlan> larger;
    PlanChanges changes;
    PlanCounts counts;
    bool stopped = false;  ///< the search was interrupted: the best plan is that of those that were looked at
    bool counted = true;   ///< false if there are more plans than `counts` says that were not searched
    std::vector<std::string> notes;
};

/// Returns the share of measured pairs in which the plan that is expected to be faster was the faster one, where
/// expected times differ by this factor, at least 1: linear between the shares of 4,772 pairs of 114 jobs
/// (docs/method/planning.md).
[[nodiscard]] double share_in_order(double factor);

/// Returns the question with the sizes of its space. Errors: a batch that is not given or no whole number of sequences.
[[nodiscard]] Result<PlanQuestion> with_sizes(PlanQuestion question);

/// Returns order_seconds() of a step that was laid out. There must be one.
[[nodiscard]] double order_seconds(const TrainAnswer& answer);

/// Returns the first plan of each set of degrees, at most so many; plans that differ only in their ZeRO stage have the
/// same.
[[nodiscard]] std::vector<TrainAnswer> of_different_degrees(const std::vector<TrainAnswer>& plans, std::size_t most);

/// Returns the number of sets of degrees that a search keeps.
[[nodiscard]] std::size_t plans_kept(const PlanQuestion& question);

/// Searches the plans of a job, or a part of them. Errors: those of with_sizes() and search_plans(); products in a
/// dtype that the machine has no faster units for.
[[nodiscard]] Result<FoundPlans> find_plans(const PlanQuestion& question,
                                            const std::shared_ptr<Calibrations>& calibrations);

/// Lays out the best plans of a search of which all parts are known. Errors: an empty space; weights that fit under no
/// plan; `interrupted` before any plan was found; those of predict_training().
[[nodiscard]] Result<SearchedPlans> lay_out_plans(const PlanQuestion& question, FoundPlans found,
                                                  const std::shared_ptr<Calibrations>& calibrations);

/// Returns the answer to a question whose plans were found. The first of SearchedPlans::alone is the best one, the
/// others are in order. Errors: those of with_sizes() and predict_training().
[[nodiscard]] Result<PlanAnswer> answer_plans(const PlanQuestion& question, SearchedPlans searched,
                                              const std::shared_ptr<Calibrations>& calibrations);

/// Calls find_plans(), lay_out_plans() and answer_plans() for the fastest plan.
[[nodiscard]] Result<PlanAnswer> predict_plans(const PlanQuestion& question,
                                               const std::shared_ptr<Calibrations>& calibrations);

}  // namespace roofline::core
