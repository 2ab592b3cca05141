// Which picture an `op` answer makes.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "report/op/op_answer.hpp"

namespace roofline {

/// The roofline plot of one machine, with the operation or the path of a sweep; or, with `sweep`, attainable FLOP/s against the
/// last swept dimension, a curve for each size of the first and each machine. Errors: no sizes; a roofline of several machines;
/// a sweep plot without a sweep; more than 12 curves.
[[nodiscard]] Result<std::string> op_plot(const std::vector<OpAnswer>& answers, const std::vector<SweepAxis>& axes,
                                          bool sweep);

}  // namespace roofline
