// The points of a sweep as a table.
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.hpp"
#include "report/format.hpp"

namespace roofline::core {

/// A row for each point; in text a long sweep shows some forty points and says so.
[[nodiscard]] std::string sweep_table(const std::vector<Prediction>& answers, const std::vector<SweepAxis>& axes,
                                      Format format);

}  // namespace roofline::core
