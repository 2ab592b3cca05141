// A program priced on machines: what `op` prints, and `run` compares with what it measures.
#pragma once

#include <string>
#include <vector>

#include "app/request.hpp"
#include "bound/sweep.hpp"
#include "predict/prediction.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// What --sweep says. Errors: no such form, more than two.
[[nodiscard]] Result<std::vector<SweepAxis>> sweep_axes(const OpRequest& request);

/// The request's program with the sizes of --dims. Errors: no program, a dimension that it lacks, one that has a size and is swept.
[[nodiscard]] Result<Program> read_program(const OpRequest& request, const std::vector<SweepAxis>& axes,
                                           std::vector<std::string>& notes);

/// An answer for each machine of the request.
[[nodiscard]] Result<std::vector<Prediction>> op_answers(const OpRequest& request, const std::vector<SweepAxis>& axes);

}  // namespace roofline::core
