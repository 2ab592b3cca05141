// The points of a sweep as a table.
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.hpp"
#include "report/format.hpp"
#include "report/table.hpp"

namespace roofline::core {

/// Returns a table with one row per point. Text shows about forty points of a longer sweep and says so.
[[nodiscard]] std::string sweep_table(const std::vector<Prediction>& answers, const std::vector<SweepAxis>& axes,
                                      Format format);

/// Returns the points for people, about a thousand of a longer sweep.
[[nodiscard]] Table sweep_points(const std::vector<Prediction>& answers, const std::vector<SweepAxis>& axes);

}  // namespace roofline::core
