// The memory and the time of many plans of one training job: what plans share is compiled once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/model.hpp"
#include "plan/apply_plan.hpp"
#include "predict/plan/collective_costs.hpp"
#include "predict/plan/compiled_stage.hpp"
#include "predict/train/train_step.hpp"

namespace roofline::core {

/// The memory and the time of a plan, as train_step() predicts them.
struct PricedPlan {
    TrainingMemory memory;             ///< of the stage with the highest use
    std::optional<double> expected_s;  ///< empty where the machine is not calibrated
    double lower_s = 0;                ///< only where nothing is expected: the lower bound

    [[nodiscard]] double seconds() const { return expected_s.value_or(lower_s); }
};

/// Prices the plans of one model on one slice. It is not safe for several threads.
class PlanPricer {
public:
    /// `model` must outlive the object.
    PlanPricer(const Model& model, Slice slice, StepPricing pricing);

    /// Returns the memory of a set-up and, if it is at most `capacities` times that of a chip, the time. Set-ups that
    /// differ in their schedule alone are cheapest one after another. Errors: a plan that does not suit the model or
    /// the slice, as for train_step().
    [[nodiscard]] Result<PricedPlan> price(const TrainSetup& setup, double capacities = 1);
    /// Number of stages that were compiled since the last forget().
    [[nodiscard]] std::size_t compiled() const { return stages_.size(); }
    /// Frees what was compiled. Times of collectives are kept.
    void forget();

private:
    /// The stages of a pipeline, without what they compute.
    struct Cut {
        std::vector<PipelineStage> kinds;
        std::vector<Sizes> passes;  ///< by kind: iterations of each repeat
    };
    [[nodiscard]] Result<const Cut*> cut_of(const TrainSetup& setup);
    [[nodiscard]] const Sizes& sizes_of(const TrainSetup& setup, const Cut& cut, std::size_t kind);
    [[nodiscard]] Result<CompiledStage*> stage_of(const TrainSetup& setup, const HeadCut& heads, const Cut& cut,
                                                  std::size_t kind);
    [[nodiscard]] Result<double> recomputed(const TrainSetup& setup);

    /// The stages of the last set-up and their work, which schedules do not change.
    struct Prepared {
        Plan plan;
        std::int64_t microbatches = 0;
        Remat remat = Remat::none;
        std::vector<std::string> kept;
        const Cut* cut = nullptr;
        std::size_t placement = 0;
        std::vector<CompiledStage*> stages;
        bool priced = false;
        double send_s = 0;
        std::vector<StageWork> work;              ///< empty where the machine is not calibrated
        std::vector<CompiledStage::Lower> lower;  ///< otherwise

        [[nodiscard]] bool is_for(const TrainSetup& other) const;
    };
    [[nodiscard]] Status prepare(const TrainSetup& setup);
    [[nodiscard]] Status price_work();

    const Model& model_;
    Slice slice_;
    StepPricing pricing_;
    CollectiveCosts collectives_;
    std::optional<double> capacity_;
    std::optional<std::int64_t> heads_;
    std::int64_t queries_ = 1;
    std::vector<RoutedExperts> routed_;
    std::map<std::pair<std::int64_t, bool>, Cut> cuts_;
    std::map<std::vector<std::int64_t>, Sizes> sizes_;
    std::map<std::string, std::shared_ptr<CompiledStage>> stages_;  ///< null: compiled for certain degrees only
    std::map<std::string, double> recomputed_;
    Prepared prepared_;
};

}  // namespace roofline::core
