// A fleet: training jobs and served models on pools of chips. Each job may run on several pools with several numbers of
// chips; which of these options each one takes, so that all of them fit and cost the least, is an assignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "plan/assignment.hpp"
#include "predict/plan/plan_jobs.hpp"
#include "predict/serve_plan/serving_search.hpp"

namespace roofline::core {

inline constexpr std::size_t most_fleet_jobs = 256;
inline constexpr std::size_t most_fleet_pools = 32;

struct FleetPool {
    std::string name;
    std::string machine;     ///< "h100-sxm"
    std::int64_t chips = 0;  ///< that there are
};

/// Training on a pool: each job of the question is an option, on another number of chips.
struct FleetTraining {
    PlanJobsQuestion question;
};

/// Serving on a pool: replicas of one of the set-ups that the search finds, which is for ServingObjective::chips. Its
/// slice has the most chips that a replica may have.
struct FleetServing {
    ServingSearch search;
};

/// A job on one of the pools, or why it cannot be asked for there.
using FleetQuestionOnPool = Result<std::variant<FleetTraining, FleetServing>>;

struct FleetJobQuestion {
    std::string name;
    double rate = 0;                            ///< requests/s of a served model, of all its replicas
    std::vector<FleetQuestionOnPool> on_pools;  ///< in the order of the pools
};

struct FleetQuestion {
    std::vector<FleetPool> pools;
    std::vector<FleetJobQuestion> jobs;
    double period_s = 0;  ///< for which served models are paid
};

/// An option of a job.
struct FleetOffer {
    std::size_t pool = 0;
    std::string slice;          ///< of the run, or of a replica: "h100-sxm:8x4"
    std::int64_t chips = 0;     ///< of all replicas
    std::int64_t replicas = 1;  ///< of a served model
    double usd = 0;             ///< of the run, or of all replicas for the period
    Plan plan;
    std::shared_ptr<const TrainAnswer> training{};  ///< empty for a served model
    std::optional<ServingSetUp> set_up{};           ///< of a replica
    std::optional<double> seconds{};                ///< of the run, with interruptions where they are known
    std::optional<double> rate{};                   ///< requests/s with which a replica still meets the targets
    bool bounds = false;                            ///< its times are lower bounds
};

struct FleetJobAnswer {
    std::string name;
    double rate = 0;                   ///< see FleetJobQuestion
    std::vector<FleetOffer> offers;    ///< by pool, then by chips
    std::vector<std::string> refused;  ///< by pool why there is no offer; "" where there is one
    std::optional<std::size_t> chosen{};
    /// The command that answers for the job alone, or for one of its replicas, option by option; for reports, empty if
    /// it is not known.
    std::vector<std::string> command{};

    [[nodiscard]] const FleetOffer& taken() const { return offers[*chosen]; }
};

/// What an eighth more chips of a pool would save.
struct FleetGain {
    std::size_t pool = 0;
    std::int64_t chips = 0;  ///< more than there are
    double usd = 0;
};

struct FleetAnswer {
    std::vector<FleetPool> pools;
    std::vector<std::int64_t> used;  ///< chips of each pool
    std::vector<FleetJobAnswer> jobs;
    double period_s = 0;
    std::optional<double> usd{};        ///< of all jobs; empty if they are not assigned
    double bound_usd = 0;               ///< no assignment costs less
    std::vector<std::int64_t> lacking;  ///< chips of each pool, the fewest of all together, if jobs do not fit together
    std::vector<FleetGain> gains;
    std::string solver;
};

/// Prices all options and assigns them. The answer has no assignment if a job has no option or not all fit at once.
/// Errors: no pools or jobs, or too many of them; those of the solver.
[[nodiscard]] Result<FleetAnswer> predict_fleet(FleetQuestion question,
                                                const std::shared_ptr<Calibrations>& calibrations, MilpSolver& solver);

}  // namespace roofline::core
