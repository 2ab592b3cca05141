// The best plan of several jobs: the same training on several slices, with several batches, lengths of sequences,
// matmul dtypes and optimizers, for an objective and under limits; and the plans that no other one beats in two
// objectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "predict/plan/plan.hpp"
#include "predict/plan/plan_objective.hpp"

namespace roofline::core {

inline constexpr std::size_t most_plan_jobs = 256;

struct PlanJobsQuestion {
    std::vector<PlanQuestion> jobs;  ///< at least one; what they keep and their limit follow from the rest
    PlanObjective objective = PlanObjective::time;
    PlanLimits limits{};
    /// Objectives of the front; none is searched for otherwise.
    std::optional<std::pair<PlanObjective, PlanObjective>> front{};
    std::optional<FoundPlans> found{};  ///< of the only job, if its plans were searched before
};

/// What became of a job.
struct PlanJobAnswer {
    std::string slice;  ///< "h100-sxm:8x16"
    std::int64_t chips = 1;
    std::int64_t batch_tokens = 0;
    std::int64_t sequence = 0;
    std::optional<Dtype> products{};  ///< see TrainSetup::products
    TrainingOptions options{};        ///< the optimizer; what is recomputed is the plan's
    PlanCounts counts;
    /// The best plan within the limits, or the one that is nearest to them; empty if none fits.
    std::optional<TrainAnswer> best{};
    std::optional<PlanValues> values{};     ///< of `best`
    std::vector<ExceededLimit> exceeded{};  ///< by `best`, or by the slice, which then is not searched
    std::optional<Error> refused{};         ///< why there is no plan, or why none was searched for

    [[nodiscard]] bool within() const { return best && exceeded.empty(); }
};

/// A plan of a front.
struct FrontPlan {
    std::size_t job = 0;
    TrainAnswer answer;
    PlanValues values;
};

struct PlanJobsAnswer {
    std::vector<PlanJobAnswer> jobs;  ///< in the order of the question
    std::size_t chosen = 0;           ///< the job with the best plan, or with the nearest one
    PlanAnswer plan;                  ///< of that job
    PlanObjective objective = PlanObjective::time;
    PlanLimits limits{};
    PlanBasis basis = PlanBasis::run;
    std::optional<std::pair<PlanObjective, PlanObjective>> front_of{};
    std::vector<FrontPlan> front;  ///< within the limits, by rising values of the first objective
    PlanCounts counts;             ///< of all jobs
    bool stopped = false;          ///< the search was interrupted; jobs behind the interrupted one were not searched
    std::vector<std::string> notes{};
    /// The command that prices the first plan alone, option by option, for reports; empty if it is not known.
    std::vector<std::string> command{};

    /// Whether a plan fits and is within the limits.
    [[nodiscard]] bool within() const { return jobs[chosen].within(); }
};

/// Searches the plans of all jobs. Plans are compared by the objective, then by time, then by the order of the jobs;
/// jobs whose times are only lower bounds come behind those with expected times, and are on no front with them. The
/// answer is the same on any number of threads. For the fewest chips, larger slices are not searched once a smaller one
/// has a plan within the limits. An interrupt ends the search of all jobs. Errors: a limit or an objective that needs
/// the tokens of the run, a price or a power that is not known; limits that no slice is within; more than
/// `most_plan_jobs` jobs or `most_plans` plans; if no job has a plan, the error of the first.
[[nodiscard]] Result<PlanJobsAnswer> predict_plan_jobs(PlanJobsQuestion question,
                                                       const std::shared_ptr<Calibrations>& calibrations);

}  // namespace roofline::core
