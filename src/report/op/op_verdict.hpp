// What limits an operation, in one or two sentences.
#pragma once

#include <string>

#include "predict/prediction.hpp"

namespace roofline::core {

/// Returns "HBM-bound: at most 21 % of peak FLOP/s. Compute-bound from B = 319 (295 for large D and F)."
[[nodiscard]] std::string op_verdict(const Prediction& answer);

}  // namespace roofline::core
