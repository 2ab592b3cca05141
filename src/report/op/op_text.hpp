// The answer to `op` as a person reads it at a glance.
#pragma once

#include <string>

#include "predict/prediction.hpp"

namespace roofline::core {

/// One screen, the answer first. Colour only strengthens what the text says.
[[nodiscard]] std::string op_text(const Prediction& answer, bool color);

}  // namespace roofline::core
