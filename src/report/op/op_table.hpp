// `op` answers of several machines beside each other.
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.hpp"
#include "report/format.hpp"

namespace roofline::core {

/// A row for each machine (CSV, in SI base units) or a column for each (text, Markdown).
[[nodiscard]] std::string op_table(const std::vector<Prediction>& answers, Format format);

}  // namespace roofline::core
