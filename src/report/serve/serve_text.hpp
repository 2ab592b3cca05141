// An answer of `roofline serve` as text for people.
#pragma once

#include <string>

#include "predict/serve/serve_answer.hpp"
#include "report/serve/serve_words.hpp"

namespace roofline::core {

[[nodiscard]] std::string serve_text(const ServeAnswer& answer);

}  // namespace roofline::core
