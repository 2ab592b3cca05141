// The points of a sweep as JSON.
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.hpp"

namespace roofline::core {

/// {"schema":1,"sweep":[...]}, each point with what changes from point to point;
/// {"schema":1,"machines":[{"sweep":...}]}.
[[nodiscard]] std::string sweep_json(const std::vector<Prediction>& answers, const std::vector<SweepAxis>& axes);

}  // namespace roofline::core
