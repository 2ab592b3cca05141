// The derivation of an answer, step by step.
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.hpp"
#include "report/page/page.hpp"

namespace roofline::core {

/// Returns the derivation: formulas, the formulas with sizes substituted, constants with their sources, the times of
/// all resources, the bottleneck, and the critical sizes.
[[nodiscard]] std::string explain_text(const Prediction& answer);

/// Returns the same line by line.
[[nodiscard]] std::vector<PageLine> explain_lines(const Prediction& answer);

}  // namespace roofline::core
