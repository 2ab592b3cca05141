// An answer of `roofline plan train` as text, JSON and tables.
#pragma once

#include <optional>
#include <string>

#include "predict/plan/plan.hpp"
#include "report/table.hpp"

namespace roofline::core {

[[nodiscard]] std::string plan_text(const PlanAnswer& answer);
/// `search_s` is how long the search took; empty where it is not to be reported.
[[nodiscard]] std::string plan_json(const PlanAnswer& answer, std::optional<double> search_s);
/// Returns the plans as a table in SI base units, best first, for CSV and Markdown.
[[nodiscard]] Table plan_table(const PlanAnswer& answer);

}  // namespace roofline::core
