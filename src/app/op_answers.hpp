// A program priced on machines: what `op` prints, and `run` compares with what it measures.
#pragma once

#include <vector>

#include "app/request.hpp"
#include "app/user_program.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// An answer for each machine of the request.
[[nodiscard]] Result<std::vector<Prediction>> op_answers(const OpRequest& request, const std::vector<SweepAxis>& axes);

/// Of a program that was read, whatever sizes `request` names; `axes` are those that apply_sweep() has put into it, or
/// none.
[[nodiscard]] Result<std::vector<Prediction>> answers_of(const OpRequest& request, const UserProgram& read,
                                                         const std::vector<SweepAxis>& axes = {});

}  // namespace roofline::core
