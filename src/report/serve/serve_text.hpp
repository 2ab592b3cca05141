// An answer of `roofline serve` as a screen of text.
#pragma once

#include <string>

#include "report/serve/serve_answer.hpp"

namespace roofline {

[[nodiscard]] std::string serve_text(const ServeAnswer& answer);

}  // namespace roofline
