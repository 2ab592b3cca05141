// A rate and its source in the form that all JSON answers share under "sources".
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bound/pricing.hpp"

namespace roofline::core {

[[nodiscard]] nlohmann::ordered_json source_json(const Rate& rate);

}  // namespace roofline::core
