// Predictions of a program on one or more machines: `op` prints them, `run` compares them with measurements.
#pragma once

#include <vector>

#include "app/request.hpp"
#include "app/user_program.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// Returns an answer per machine of the request.
[[nodiscard]] Result<std::vector<Prediction>> op_answers(const OpRequest& request, const std::vector<SweepAxis>& axes);

/// Returns the answers for a program that has already been read, whatever sizes `request` contains; `axes` are those
/// that apply_sweep() has added to it, if any.
[[nodiscard]] Result<std::vector<Prediction>> answers_of(const OpRequest& request, const UserProgram& read,
                                                         const std::vector<SweepAxis>& axes = {});

}  // namespace roofline::core
