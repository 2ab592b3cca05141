// The answer to `op` as text for people.
#pragma once

#include <string>

#include "predict/prediction.hpp"

namespace roofline::core {

/// Returns one screen of text with the answer first. Colour never carries information of its own.
[[nodiscard]] std::string op_text(const Prediction& answer, bool color);

}  // namespace roofline::core
