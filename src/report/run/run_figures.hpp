// The figures of runs beside predictions, and what is made of them: JSON (docs/reference/json.md), and the table of a
// sweep.
#pragma once

#include <string>

#include "predict/compare/run_answer.hpp"
#include "report/figure.hpp"
#include "report/table.hpp"

namespace roofline::core {

/// One of an answer's runs.
struct RunAt {
    const RunAnswer& answer;
    const RunPoint& point;
};

/// A line for each run: in SI base units for programs, or as people read it.
[[nodiscard]] Table run_table(const RunAnswer& answer, bool for_programs);

[[nodiscard]] std::string run_json(const RunAnswer& answer);

}  // namespace roofline::core
