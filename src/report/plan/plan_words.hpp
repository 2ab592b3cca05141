// Words and numbers about plans of several jobs: objectives, limits, and the tables for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "predict/plan/plan_jobs.hpp"
#include "report/table.hpp"

namespace roofline::core {

/// Returns "8 microbatches, interleaved:2, remat full".
[[nodiscard]] std::string choice_text(const TrainAnswer& answer);

/// Returns "fsdp=8, 2 microbatches, remat full".
[[nodiscard]] std::string whole_text(const TrainAnswer& answer);

/// Below it a plan and the best one are a near-tie.
inline constexpr double near_tie_certainty = 0.75;

/// Returns "73 %".
[[nodiscard]] std::string share_text(double share);

/// Returns a time beside that of the best plan: "+3.1 %", or "equal" where they differ by less than 0.05 %.
[[nodiscard]] std::string beside_text(double factor);

/// Returns ">= " before a time, a cost or an energy of a plan of which only a lower bound is known, and "" otherwise.
[[nodiscard]] std::string_view at_least(const TrainAnswer& answer);

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

/// Returns a command as lines that a shell reads as one: all but the first are indented by four more spaces, and a
/// backslash continues all but the last. `words` are not broken.
[[nodiscard]] std::string shell_lines(const std::vector<std::string>& words, std::size_t indent, std::size_t width);

/// Returns one row per job: its best plan, or why it has none.
[[nodiscard]] Table jobs_table(const PlanJobsAnswer& answer);

/// Returns one row per plan of the front.
[[nodiscard]] Table front_table(const PlanJobsAnswer& answer);

}  // namespace roofline::core
