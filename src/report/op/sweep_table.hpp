// The points of a sweep as a table.
#pragma once

#include <string>
#include <vector>

#include "report/format.hpp"
#include "report/op/op_answer.hpp"

namespace roofline {

/// A row for each point; in text a long sweep shows some forty points and says so.
[[nodiscard]] std::string sweep_table(const std::vector<OpAnswer>& answers, const std::vector<SweepAxis>& axes,
                                      Format format);

}  // namespace roofline
