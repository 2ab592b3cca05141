// The quantities that runs report next to their predictions, as JSON (docs/reference/json.md) and as the table of a
// sweep.
#pragma once

#include <string>

#include "predict/compare/run_answer.hpp"
#include "report/figure.hpp"
#include "report/table.hpp"

namespace roofline::core {

/// One run of an answer.
struct RunAt {
    const RunAnswer& answer;
    const RunPoint& point;
};

/// Returns a table with one row per run, in SI base units for programs or formatted for people.
[[nodiscard]] Table run_table(const RunAnswer& answer, bool for_programs);

[[nodiscard]] std::string run_json(const RunAnswer& answer);

}  // namespace roofline::core
