// The best plan of a training job: searched on several slices and with several batches, for an objective and under
// limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "roofline/machine.hpp"
#include "roofline/model.hpp"
#include "roofline/result.hpp"
#include "roofline/train.hpp"
#include "roofline/units.hpp"

namespace roofline {

/// What is to be least.
enum class PlanObjective : std::uint8_t {
    time,    ///< of the run, with interruptions where TrainingOptions::recovery is given
    cost,    ///< of all chips for that time
    energy,  ///< of all chips at their rated power for that time, without hosts, switches and cooling
    chips,
    memory,  ///< of the fullest chip
};

/// Limits of a plan; those that are empty do not limit.
struct PlanLimits {
    std::optional<Seconds> time{};  ///< of the run; needs TrainingOptions::total_tokens
    std::optional<Usd> cost{};      ///< likewise
    std::optional<Power> power{};   ///< of all chips, as rated
    std::optional<std::int64_t> chips{};
};

/// What is searched.
struct PlanSearch {
    /// The job. Its batch, plan, micro-batches, schedule and recomputation are searched and must not be set here.
    TrainingOptions job{};
    std::vector<std::int64_t> batch_tokens{};  ///< tokens per step, at least one number
    /// Dtypes of matmuls as TrainingOptions::matmul_dtype, each searched; empty: that of the job.
    std::vector<std::optional<Dtype>> matmul_dtypes{};
    std::vector<Optimizer> optimizers{};           ///< each is searched; empty: that of the job
    std::map<PlanAxis, std::int64_t> fixed{};      ///< degrees that are not searched
    std::vector<PlanAxis> without{};               ///< axes that are not used
    std::optional<std::int64_t> microbatches{};    ///< empty: all numbers are searched
    std::optional<PipelineSchedule> schedule{};    ///< empty: 1F1B, interleaved and zero-bubble are searched
    std::optional<Recomputation> recomputation{};  ///< empty: none, selective and full are searched
    PlanObjective objective = PlanObjective::time;
    PlanLimits limits{};
    /// Two objectives: PlanSearchAnswer::front has the plans that no other one beats in both.
    std::optional<std::pair<PlanObjective, PlanObjective>> front{};
    std::size_t threads = 1;  ///< the answer is the same on any number of them
};

/// A plan that was found, laid out by itself.
struct FoundPlan {
    std::size_t system = 0;         ///< index of its system
    std::int64_t batch_tokens = 0;  ///< per step
    std::optional<Dtype> matmul_dtype{};
    Optimizer optimizer{};
    TrainingPlan plan{};
    std::int64_t microbatches = 1;
    std::optional<PipelineSchedule> schedule{};  ///< of a pipeline
    Recomputation recomputation = Recomputation::none;
    TrainingPrediction prediction{};
    /// Of the run; without TrainingOptions::total_tokens of a step, or, with several batches, of a million tokens.
    Seconds time{};
    std::optional<Usd> cost{};       ///< likewise; empty if the chip has no price
    std::optional<Joules> energy{};  ///< likewise; empty if the chip's power is not published
};

/// What became of the plans.
struct PlanSearchCounts {
    std::int64_t searched = 0;       ///< plans looked at; splits that do not divide are none
    std::int64_t priced = 0;         ///< plans that fit, are within the limits, and have a time
    std::int64_t do_not_divide = 0;  ///< splits of the chips that do not divide the model or the batch
    std::int64_t do_not_fit = 0;
    std::int64_t bounded = 0;        ///< plans whose lower bound exceeds the best time
    std::int64_t beyond_limits = 0;  ///< plans that fit, but are beyond PlanLimits
};

/// The answer of search_plans(). All members are plain values; only to_json() needs `data`.
struct PlanSearchAnswer {
    /// The best plan of each system, batch, dtype and optimizer that has one that fits, in the order of the question.
    /// Where none is within the limits it is the nearest.
    std::vector<FoundPlan> plans{};
    std::optional<std::size_t> best{};     ///< index of the best one in `plans`; empty if none fits within the limits
    std::optional<std::size_t> nearest{};  ///< otherwise the plan that is nearest to the limits; empty if nothing fits
    std::vector<FoundPlan> front{};        ///< by rising values of the first objective
    PlanSearchCounts counts{};
    std::vector<std::string> notes{};

    /// Returns the line that `roofline plan train --json` prints for the same question, with its newline. `command` is
    /// null, because options are no words of a command.
    [[nodiscard]] std::string to_json() const;

    /// Internal to the library.
    struct Data;
    std::shared_ptr<const Data> data{};
};

/// Searches the plans of the model on each system with each batch. Errors: no system or batch; an option of `job` that
/// is searched; those of predict_training() that concern the job; a limit or an objective whose price, power or tokens
/// are not known; limits that no system is within; more than 100 million plans; no plan on any system.
[[nodiscard]] Result<PlanSearchAnswer> search_plans(const Model& model, std::span<const System> systems,
                                                    const PlanSearch& search);

}  // namespace roofline
