// The words for a served model's set-up, and its notes.
#pragma once

#include <string>
#include <vector>

#include "predict/serve/serve_answer.hpp"

namespace roofline::core {

/// "tpu-v5e:4x4"
[[nodiscard]] std::string slice_name(const ServeAnswer& answer);

/// How weights and caches lie, in words.
[[nodiscard]] std::string split_text(const ServeAnswer& answer);

[[nodiscard]] std::vector<std::string> serve_notes(const ServeAnswer& answer);

/// Of tokens or requests a second, without a unit.
[[nodiscard]] std::string rate_text(double value);

}  // namespace roofline::core
