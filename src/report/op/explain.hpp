// The derivation of an answer, step by step, as a careful engineer would write it.
#pragma once

#include <string>

#include "predict/prediction.hpp"

namespace roofline::core {

/// Formula, sizes put in, constants with their sources, every term, the winner, the critical sizes.
[[nodiscard]] std::string explain_text(const Prediction& answer);

}  // namespace roofline::core
