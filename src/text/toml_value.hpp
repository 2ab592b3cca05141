// The values of our own TOML files in the same form as those of JSON.
#pragma once

#include "text/toml.hpp"
#include "text/value.hpp"

namespace roofline::core {

[[nodiscard]] FileValue file_value(const toml::node& node);

}  // namespace roofline::core
