// An answer of `roofline serve` as JSON (docs/reference/json.md).
#pragma once

#include <string>

#include "predict/serve/serve_answer.hpp"
#include "report/serve/serve_words.hpp"

namespace roofline::core {

[[nodiscard]] std::string serve_json(const ServeAnswer& answer);

}  // namespace roofline::core
