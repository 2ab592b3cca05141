// Models by name: data/presets.toml contains their configurations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/config.hpp"

namespace roofline::core {

/// The configuration of a built-in model. An unambiguous prefix of the name is enough, and case is ignored. Errors: no
/// such name (the message names the nearest), or an ambiguous prefix.
[[nodiscard]] Result<Config> preset_config(std::string_view name);

[[nodiscard]] std::vector<std::string> preset_names();

}  // namespace roofline::core
