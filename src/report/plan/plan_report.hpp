// An answer of `roofline plan train` as text, JSON and tables.
#pragma once

#include <optional>
#include <string>

#include "predict/plan/plan_jobs.hpp"
#include "report/page/page.hpp"
#include "report/table.hpp"

namespace roofline::core {

[[nodiscard]] std::string plan_text(const PlanJobsAnswer& answer);
/// Returns what the text says of the search as the sections of a page, without those of the best plan itself.
[[nodiscard]] ReportPage plan_sections(const PlanJobsAnswer& answer);
/// Returns the report: the best plan and why, what it costs, the others, what limits it and what would change it.
[[nodiscard]] ReportPage plan_page(const PlanJobsAnswer& answer);
/// `search_s` is how long the search took; empty where it is not to be reported.
[[nodiscard]] std::string plan_json(const PlanJobsAnswer& whole, std::optional<double> search_s);
/// Returns a table in SI base units for CSV and Markdown: the front if one was asked for, else the best plan of each
/// job, or of a single job its plans, best first.
[[nodiscard]] Table plan_table(const PlanJobsAnswer& answer);

}  // namespace roofline::core
