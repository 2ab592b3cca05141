// Columns that tables of published plans have beside those of training runs.
#pragma once

#include <string>
#include <vector>

#include "import/table_fields.hpp"
#include "import/training_table.hpp"

namespace roofline::core {

/// Returns true if the columns are those of a table of plans, whose rows may be recipes that nobody measured.
[[nodiscard]] bool is_plan_table(const std::vector<std::string>& columns);

/// Returns why a row of such a table is no measurement of a training step; "" if it is one. Only the columns `measured`
/// and `task` count, so a recipe may have anything in its other fields.
[[nodiscard]] std::string why_no_step(const std::vector<std::string>& columns, const TableFields& fields);

/// Completes a row, whose other columns have been read: `vpp`, `sp`, `etp`, `experts`, `moe_ffn`, `overlap`, and what
/// such tables say in words of their own in `dtype`, `recompute`, `sharding` and `schedule`. `skip` is the reason if
/// a word has no meaning for a plan. Errors: a count that is no positive number.
[[nodiscard]] Status read_plan_columns(const std::vector<std::string>& columns, const TableFields& fields,
                                       MeasuredTraining& row, std::string& skip);

}  // namespace roofline::core
