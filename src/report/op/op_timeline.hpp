// A timeline of an `op` answer: statements one after another, one lane per resource.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// Times in seconds of a training step that exceed those of its program because of the pipeline bubble.
struct PipelineTotals {
    double in_turn = 0;
    double lower = 0;
};

/// Draws the sequential time: every statement takes its own lower bound; its resources start together, and shorter
/// times overlap with the longest. Each repeat is drawn once. All dimensions must have sizes. `step` is given if the
/// program is a stage of a pipeline.
[[nodiscard]] std::string op_timeline(const Prediction& answer, std::optional<PipelineTotals> step = {});

}  // namespace roofline::core
