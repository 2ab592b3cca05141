// Words and numbers about plans of several jobs: objectives, limits, and the tables for people.
#pragma once

#include <string>
#include <string_view>

#include "predict/plan/plan_jobs.hpp"
#include "report/table.hpp"

namespace roofline::core {

/// Returns "8 microbatches, interleaved:2, remat full".
[[nodiscard]] std::string choice_text(const TrainAnswer& answer);

/// Returns "of the run", "per step" or "per million tokens".
[[nodiscard]] std::string_view basis_text(PlanBasis basis);

/// Returns "time of the run", "USD per million tokens", "energy per step", "memory per chip".
[[nodiscard]] std::string objective_text(PlanObjective objective, PlanBasis basis);

/// Returns a value of an objective with its unit: "44.7 days", "1,290 USD", "3.1 GJ", "54 GB".
[[nodiscard]] std::string value_text(PlanObjective objective, PlanBasis basis, double value);

/// Returns "71.3 of 60 days", "6.2e+06 of 5e+06 USD".
[[nodiscard]] std::string exceeded_text(const ExceededLimit& exceeded);

/// Returns the option that would let the plan pass: "--days 71.4".
[[nodiscard]] std::string passing_option(const ExceededLimit& exceeded);

/// Returns one row per job: its best plan, or why it has none.
[[nodiscard]] Table jobs_table(const PlanJobsAnswer& answer);

/// Returns one row per plan of the front.
[[nodiscard]] Table front_table(const PlanJobsAnswer& answer);

}  // namespace roofline::core
