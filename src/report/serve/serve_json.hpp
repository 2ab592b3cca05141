// An answer of `roofline serve` as JSON (docs/json.md).
#pragma once

#include <string>

#include "report/serve/serve_answer.hpp"

namespace roofline {

[[nodiscard]] std::string serve_json(const ServeAnswer& answer);

}  // namespace roofline
