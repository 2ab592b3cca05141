// Reads config.json of a Hugging Face checkpoint: the type of the model, and where its language model's keys are.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "model/config.hpp"

namespace roofline::core {

/// Parses a configuration and keeps all keys. Errors: not JSON, not a table, no model_type (with what the file may be
/// instead).
[[nodiscard]] Result<Config> parse_config(std::string_view text, std::string_view name);

}  // namespace roofline::core
