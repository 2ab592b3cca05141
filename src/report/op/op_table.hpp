// `op` answers of several machines beside each other.
#pragma once

#include <string>
#include <vector>

#include "report/format.hpp"
#include "report/op/op_answer.hpp"

namespace roofline {

/// A row for each machine (CSV, in SI base units) or a column for each (text, Markdown).
[[nodiscard]] std::string op_table(const std::vector<OpAnswer>& answers, Format format);

}  // namespace roofline
