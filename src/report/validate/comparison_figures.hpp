// The quantities reported for a measurement next to its prediction.
#pragma once

#include <string>
#include <vector>

#include "predict/compare/comparison.hpp"
#include "report/figure.hpp"
#include "report/table.hpp"

namespace roofline::core {

[[nodiscard]] FigureValue comparison_json(const Comparison& row);

/// Returns a table for people with one row per measurement, with or without the expected time.
[[nodiscard]] Table comparison_rows(const std::vector<Comparison>& rows, bool expected);

/// Returns "all_reduce" in the spelling for people: "all-reduce".
[[nodiscard]] std::string display_name(std::string operation);

}  // namespace roofline::core
