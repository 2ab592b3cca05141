// An answer of `roofline plan train` as text, JSON and tables.
#pragma once

#include <optional>
#include <string>

#include "predict/plan/plan_jobs.hpp"
#include "report/table.hpp"

namespace roofline::core {

[[nodiscard]] std::string plan_text(const PlanJobsAnswer& answer);
/// `search_s` is how long the search took; empty where it is not to be reported.
[[nodiscard]] std::string plan_json(const PlanJobsAnswer& whole, std::optional<double> search_s);
/// Returns a table in SI base units for CSV and Markdown: the front if one was asked for, else the best plan of each
/// job, or of a single job its plans, best first.
[[nodiscard]] Table plan_table(const PlanJobsAnswer& answer);

}  // namespace roofline::core
