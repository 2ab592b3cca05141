// A rate with its origin, as every JSON answer writes it under "sources".
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bound/pricing.hpp"

namespace roofline::core {

[[nodiscard]] nlohmann::ordered_json source_json(const Rate& rate);

}  // namespace roofline::core
