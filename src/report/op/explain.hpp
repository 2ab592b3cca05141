// The derivation of an answer, step by step.
#pragma once

#include <string>

#include "predict/prediction.hpp"

namespace roofline::core {

/// Returns the derivation: formulas, the formulas with sizes substituted, constants with their sources, the times of
/// all resources, the bottleneck, and the critical sizes.
[[nodiscard]] std::string explain_text(const Prediction& answer);

}  // namespace roofline::core
