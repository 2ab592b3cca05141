// A rate and its source in the form that all JSON answers share under "sources".
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "bound/pricing.hpp"

namespace roofline::core {

[[nodiscard]] nlohmann::ordered_json source_json(const Rate& rate);

/// Returns the known roofs of a machine: its peaks and the bandwidths of its memory.
[[nodiscard]] std::vector<Rate> roof_rates(const Machine& machine);

/// Returns the sources of an answer that rests on all roofs of a machine, as a list.
[[nodiscard]] nlohmann::ordered_json roof_sources_json(const Machine& machine);

}  // namespace roofline::core
