// The answer to `op` as a person reads it at a glance.
#pragma once

#include <string>

#include "report/op/op_answer.hpp"

namespace roofline {

/// One screen, the answer first. Colour only strengthens what the text says.
[[nodiscard]] std::string op_text(const OpAnswer& answer, bool color);

}  // namespace roofline
