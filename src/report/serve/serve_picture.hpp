// The frontier of `roofline serve` as a picture.
#pragma once

#include <string>

#include "report/serve/serve_answer.hpp"

namespace roofline {

/// Tokens/s against the time of a token, a mark for each batch size that fits, the knee named. A whole SVG document.
[[nodiscard]] std::string serve_picture(const std::vector<ServeAnswer>& answers);

}  // namespace roofline
