// Values of our own TOML files as those of a configuration.
#pragma once

#include "machine/toml.hpp"
#include "model/config.hpp"

namespace roofline {

[[nodiscard]] ConfigValue config_value(const toml::node& node);

}  // namespace roofline
