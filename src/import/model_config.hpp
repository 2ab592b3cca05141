// config.json of a Hugging Face checkpoint: which model it is, and where its language model's keys are.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "model/config.hpp"

namespace roofline::core {

/// Reads a configuration. All keys are kept. Errors: not JSON, no table, no model_type (with what the file may be instead).
[[nodiscard]] Result<Config> parse_config(std::string_view text, std::string_view name);

}  // namespace roofline::core
