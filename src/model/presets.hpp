// Models by name: data/presets.toml holds what their configurations say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/config.hpp"

namespace roofline::core {

/// The configuration of a model that the program knows. A beginning of its name is enough where only one begins so; case does
/// not matter. Errors: no such name (the nearest is named), or several that begin so.
[[nodiscard]] Result<Config> preset_config(std::string_view name);

[[nodiscard]] std::vector<std::string> preset_names();

}  // namespace roofline::core
