// An answer of `roofline serve` as a screen of text.
#pragma once

#include <string>

#include "predict/serve/serve_answer.hpp"
#include "report/serve/serve_words.hpp"

namespace roofline::core {

/// Of tokens or requests a second, without a unit.
[[nodiscard]] std::string rate_text(double value);

[[nodiscard]] std::string serve_text(const ServeAnswer& answer);

}  // namespace roofline::core
