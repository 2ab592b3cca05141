// The points of a sweep as JSON.
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.hpp"

namespace roofline::core {

/// Returns {"schema":1,"sweep":[...]}, where each point has only what differs between points, or
/// {"schema":1,"machines":[{"sweep":...}]} for several machines.
[[nodiscard]] std::string sweep_json(const std::vector<Prediction>& answers, const std::vector<SweepAxis>& axes);

}  // namespace roofline::core
