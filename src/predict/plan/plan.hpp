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
#include "predict/plan/plan_search.hpp"
#include "predict/train/train.hpp"

namespace roofline::core {

struct PlanQuestion {
    TrainQuestion train;  ///< the plan, recomputation, micro-batches and schedule of its set-up are searched
    PlanSpace space;      ///< its sizes are those of the model, the batch and the slice
    std::size_t threads = 1;
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

/// The change of the step's time with a figure of the machine: d log time / d log figure.
struct Elasticity {
    std::string path;
    double value = 0;
};

struct PlanAnswer {
    TrainAnswer best;  ///< if nothing fits, the plan that needs the least memory
    bool fits = true;
    /// The first one of each set of degrees of SearchedPlans::alone, the best plan among them.
    std::vector<PlanBeside> plans;
    std::vector<LargerPlan> larger;
    std::vector<Elasticity> elasticities;
    PlanCounts counts;
    std::vector<std::string> notes;
};

/// Returns the share of measured pairs in which the plan that is expected to be faster was the faster one, where
/// expected times differ by this factor, at least 1: linear between the shares of 4,772 pairs of 114 jobs
/// (docs/method/planning.md).
[[nodiscard]] double share_in_order(double factor);

/// Sets the sizes of the question's space. Errors: a batch that is not given or no whole number of sequences.
[[nodiscard]] Status complete_space(PlanQuestion& question);

/// Searches the plans of a job and lays the best ones out. Errors: those of complete_space(), which it calls; an
/// empty space; a model without derivatives; weights that fit under no plan.
[[nodiscard]] Result<SearchedPlans> find_plans(PlanQuestion& question,
                                               const std::shared_ptr<Calibrations>& calibrations);

/// Returns the answer to a question whose plans were found. The first of SearchedPlans::alone is the best one, the
/// others are in order. Errors: those of predict_training().
[[nodiscard]] Result<PlanAnswer> answer_plans(const PlanQuestion& question, SearchedPlans searched,
                                              const std::shared_ptr<Calibrations>& calibrations);

/// Returns the time of a step behind its rates: the expected one, or the lower bound where nothing is calibrated.
[[nodiscard]] double step_seconds(const TrainAnswer& answer);

/// Calls find_plans() and answer_plans() for the fastest plan.
[[nodiscard]] Result<PlanAnswer> predict_plans(PlanQuestion question,
                                               const std::shared_ptr<Calibrations>& calibrations);

}  // namespace roofline::core
