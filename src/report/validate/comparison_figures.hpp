// The figures of a measured row beside its prediction.
#pragma once

#include <string>
#include <vector>

#include "predict/compare/comparison.hpp"
#include "report/figure.hpp"
#include "report/table.hpp"

namespace roofline::core {

[[nodiscard]] FigureValue comparison_json(const Comparison& row);

/// A line for each row as people read it, with or without the expected time.
[[nodiscard]] Table comparison_rows(const std::vector<Comparison>& rows, bool expected);

/// "all_reduce" as people write it.
[[nodiscard]] std::string spoken(std::string operation);

}  // namespace roofline::core
