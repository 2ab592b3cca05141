// The frontier of `roofline serve` as a picture.
#pragma once

#include <string>

#include "predict/serve/serve_answer.hpp"
#include "report/serve/serve_words.hpp"

namespace roofline::core {

/// Returns a complete SVG document that plots tokens/s over TPOT, with a mark per batch size that fits and a label at
/// the knee.
[[nodiscard]] std::string serve_picture(const std::vector<ServeAnswer>& answers);

}  // namespace roofline::core
