// The JSON of an answer of `roofline hlo`.
#pragma once

#include <string>

#include "predict/imported/module_answer.hpp"

namespace roofline::core {

/// Returns one JSON object (docs/reference/json.md).
[[nodiscard]] std::string hlo_json(const ModuleAnswer& answer);

}  // namespace roofline::core
