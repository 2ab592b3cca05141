// The points of a sweep as JSON.
#pragma once

#include <string>
#include <vector>

#include "report/op/op_answer.hpp"

namespace roofline {

/// {"schema":1,"sweep":[...]}, each point with what changes from point to point; {"schema":1,"machines":[{"sweep":...}]}.
[[nodiscard]] std::string sweep_json(const std::vector<OpAnswer>& answers, const std::vector<SweepAxis>& axes);

}  // namespace roofline
