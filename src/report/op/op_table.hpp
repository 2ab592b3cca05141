// A comparison of `op` answers of several machines.
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.hpp"
#include "report/format.hpp"
#include "report/table.hpp"

namespace roofline::core {

/// Returns a table with one row per machine (CSV, in SI base units) or one column per machine (text, Markdown).
[[nodiscard]] std::string op_table(const std::vector<Prediction>& answers, Format format);

/// Returns the table for people with one column per machine.
[[nodiscard]] Table op_comparison(const std::vector<Prediction>& answers);

}  // namespace roofline::core
