// Texts about the setup of a served model, and its notes.
#pragma once

#include <string>
#include <vector>

#include "predict/serve/serve_answer.hpp"

namespace roofline::core {

/// Returns "tpu-v5e:4x4".
[[nodiscard]] std::string slice_name(const ServeAnswer& answer);

/// Describes how weights and KV caches are sharded.
[[nodiscard]] std::string split_text(const ServeAnswer& answer);

[[nodiscard]] std::vector<std::string> serve_notes(const ServeAnswer& answer);

/// Formats a number of tokens or requests per second without a unit.
[[nodiscard]] std::string rate_text(double value);

}  // namespace roofline::core
