// The frontier of `roofline serve` as a picture.
#pragma once

#include <string>

#include "predict/serve/serve_answer.hpp"
#include "report/serve/serve_words.hpp"

namespace roofline::core {

/// Tokens/s against the time of a token, a mark for each batch size that fits, the knee named. A whole SVG document.
[[nodiscard]] std::string serve_picture(const std::vector<ServeAnswer>& answers);

}  // namespace roofline::core
