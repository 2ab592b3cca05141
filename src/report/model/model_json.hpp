// An answer of `roofline model` as JSON (docs/reference/json.md).
#pragma once

#include <string>

#include "report/model/model_words.hpp"

namespace roofline::core {

[[nodiscard]] std::string model_json(const ModelAnswer& answer);

}  // namespace roofline::core
