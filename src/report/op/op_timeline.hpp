// An `op` answer as a time line: statements in turn, a lane for each resource.
#pragma once

#include <string>

#include "base/result.hpp"
#include "report/op/op_answer.hpp"

namespace roofline {

/// The picture of `sequential_s`: every statement takes its own lower bound, its resources start together and what is shorter
/// hides beside the longest. Each repeat is drawn once. All dimensions have sizes.
[[nodiscard]] std::string op_timeline(const OpAnswer& answer);

}  // namespace roofline
