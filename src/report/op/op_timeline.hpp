// An `op` answer as a time line: statements in turn, a lane for each resource.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// Totals of a step that has more than its program: what a stage of a pipeline waits for others. Seconds.
struct StepTotals {
    double in_turn = 0;
    double lower = 0;
};

/// The picture of `sequential_s`: every statement takes its own lower bound, its resources start together and what is
/// shorter hides beside the longest. Each repeat is drawn once. All dimensions have sizes. `step`: where the program is
/// that of a stage.
[[nodiscard]] std::string op_timeline(const Prediction& answer, std::optional<StepTotals> step = {});

}  // namespace roofline::core
