// `op` answers as tables: several machines beside each other, the points of a sweep.
#pragma once

#include <string>
#include <vector>

#include "report/format.hpp"
#include "report/op_answer.hpp"

namespace roofline {

/// A row for each machine (CSV, in SI base units) or a column for each (text, Markdown).
[[nodiscard]] std::string op_table(const std::vector<OpAnswer>& answers, Format format);

/// A row for each point; in text a long sweep shows some forty points and says so.
[[nodiscard]] std::string sweep_table(const std::vector<OpAnswer>& answers, const std::vector<SweepAxis>& axes,
                                      Format format);

}  // namespace roofline
