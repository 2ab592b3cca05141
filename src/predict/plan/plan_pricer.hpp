// The memory and the time of many plans of one training job: what plans share is compiled once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/model.hpp"
#include "plan/apply_plan.hpp"
#include "plan/axis_orders.hpp"
#include "predict/plan/collective_costs.hpp"
#include "predict/plan/compiled_stage.hpp"
#include "predict/train/train_step.hpp"

namespace roofline::core {

/// Returns the seconds by which plans are put in order: the expected time, and where nothing is expected the lower
/// bound with a hundredth of what no overlap would add. Compute-bound plans have nearly the same lower bound, and that
/// tells them apart.
[[nodiscard]] inline double order_seconds(const std::optional<double>& expected_s, double lower_s, double upper_s) {
    constexpr double weight = 0.01;
    return expected_s.value_or(lower_s + weight * std::max(0.0, upper_s - lower_s));
}

/// The memory and the time of a plan, as train_step() predicts them, or what is known of them.
struct PricedPlan {
    enum class Known {
        all,
        memory,  ///< a plan whose memory is above the limit; `memory` is that of all stages if no time is a limit
        bound    ///< a plan that takes longer than the limit; only this is known
    };
    Known known = Known::all;
    TrainingMemory memory{};             ///< of the stage with the highest use
    std::optional<double> expected_s{};  ///< empty where the machine is not calibrated
    double lower_s = 0;                  ///< only where nothing is expected: the lower bound
    double upper_s = 0;                  ///< likewise: without any overlap, and without transfers between stages

    [[nodiscard]] double seconds() const { return expected_s.value_or(lower_s); }
    [[nodiscard]] double order_s() const { return order_seconds(expected_s, lower_s, upper_s); }
};

/// A plan above one of these is not priced in full.
struct PriceLimits {
    double capacities = 1;  ///< memory, as a multiple of that of a chip
    double seconds = std::numeric_limits<double>::infinity();
};

/// Prices the plans of one model with one framework on one slice. It is not safe for several threads.
class PlanPricer {
public:
    /// `model` must outlive the object.
    PlanPricer(const Model& model, Slice slice, StepPricing pricing);

    /// Returns the memory and the time of a set-up. What need not be compiled to see that a limit is exceeded is not:
    /// a step takes at least as long as without recomputation, and as its stages that are known. Cheapest is to price
    /// the set-ups of a plan and a number of micro-batches one after another, those without recomputation first.
    /// Errors: a plan that does not suit the model or the slice, as for train_step().
    [[nodiscard]] Result<PricedPlan> price(const TrainSetup& setup, const PriceLimits& limits = {});
    /// Returns what holds for a set-up in each of some orders of its axes: its memory, and a time that none of them is
    /// below. Set-ups in one of the orders are cheapest to price next. Errors: as for price().
    [[nodiscard]] Result<PricedPlan> price_any(const TrainSetup& setup, const std::vector<AxisOrder>& orders,
                                               const PriceLimits& limits);
    /// Number of stages that were compiled since the last forget().
    [[nodiscard]] std::size_t compiled() const { return stages_.size(); }
    /// Frees what was compiled. Times of collectives are kept.
    void forget();

private:
    /// The stages of a pipeline, without what they compute.
    struct Cut {
        std::vector<PipelineStage> kinds;
        std::vector<Sizes> passes;          ///< by kind: iterations of each repeat
        std::vector<std::size_t> heaviest;  ///< kinds, those that stand for most stages first
    };
    /// What all set-ups of a plan share.
    struct Placed {
        Plan plan;
        bool late_layers = false;
        MeshDegrees degrees{};
        HeadCut heads{};
        const Cut* cut = nullptr;
        std::size_t placement = 0;
        std::vector<std::pair<AxisOrder, std::size_t>> placements{};  ///< of the orders that were asked for
        std::optional<std::size_t> any{};                             ///< what stands for several orders
    };
    /// A stage of the plan with its number of micro-batches.
    struct StageOfPlan {
        CompiledStage* compiled = nullptr;  ///< null: not compiled yet
        bool priced = false;                ///< on the placement
        std::optional<StepParts> kernels{};
        std::optional<std::pair<Pipeline, TrainingMemory>> memory{};  ///< of the last schedule
        StageWork work{};
        std::optional<CompiledStage::Lower> lower{};  ///< only where nothing is expected
    };
    /// The stages with one kind of recomputation. Schedules do not change them.
    struct Stages {
        Remat remat = Remat::none;
        std::vector<std::string> kept{};
        bool accumulates = false;  ///< compiled for several micro-batches, even if there is one
        std::vector<StageOfPlan> kinds{};
        bool expected = true;  ///< all that are priced
    };
    /// Numbers, so that many stages are found quickly.
    using StageKey = std::vector<std::int64_t>;

    [[nodiscard]] Status place(const TrainSetup& setup);
    [[nodiscard]] Result<std::size_t> placement_of(const Plan& plan);
    void place_on(std::size_t placement);
    [[nodiscard]] Result<PricedPlan> price_placed(const TrainSetup& setup, const PriceLimits& limits);
    [[nodiscard]] Result<const Cut*> cut_of(const TrainSetup& setup);
    [[nodiscard]] const Sizes& sizes_of(const TrainSetup& setup, std::size_t kind);
    [[nodiscard]] StageKey structure_of(const TrainSetup& setup, bool accumulates, std::size_t kind) const;
    [[nodiscard]] StageKey with_degrees(StageKey key) const;
    [[nodiscard]] CompiledStage* known_stage(const StageKey& key) const;
    [[nodiscard]] Result<CompiledStage*> compiled_stage(const TrainSetup& setup, std::size_t kind);
    [[nodiscard]] Stages& stages_of_plan(const TrainSetup& setup, Remat remat, bool accumulates);
    void use(StageOfPlan& stage, CompiledStage* compiled, const TrainSetup& setup, std::size_t kind);
    [[nodiscard]] Result<double> recomputed(const TrainSetup& setup);
    [[nodiscard]] Status price_stage(Stages& stages, std::size_t kind);
    /// Returns the time of a step whose stages are those that are priced; the others make it longer. `recomputed`: of
    /// the time of matmuls at peak rate, added.
    [[nodiscard]] PricedPlan time_of(const Stages& stages, const PipelineCost& schedule, double recomputed);
    [[nodiscard]] Result<double> least_seconds(Stages& stages, const PipelineCost& schedule, double recomputed);
    [[nodiscard]] double capacities_of(const Stages& stages, const Pipeline& pipeline, std::size_t kind) const;
    [[nodiscard]] Result<PricedPlan::Known> known_from_others(const TrainSetup& setup, const Pipeline& pipeline,
                                                              const PriceLimits& limits);

    const Model& model_;
    Slice slice_;
    StepPricing pricing_;
    CollectiveCosts collectives_;
    std::optional<double> capacity_;
    std::optional<double> hbm_bytes_per_s_;
    std::optional<std::int64_t> heads_;
    std::int64_t queries_ = 1;
    std::vector<RoutedExperts> routed_;
    std::map<std::pair<std::int64_t, bool>, Cut> cuts_;
    std::map<std::vector<std::int64_t>, Sizes> sizes_;
    std::map<StageKey, std::unique_ptr<CompiledStage>> stages_;  ///< null: compiled for certain degrees only
    std::vector<std::vector<std::string>> kept_;                 ///< that were asked for
    std::map<std::string, double> recomputed_;

    std::optional<Placed> placed_;
    std::int64_t microbatches_ = 0;
    std::vector<std::unique_ptr<Stages>> prepared_;  ///< of this plan and these micro-batches
};

}  // namespace roofline::core
