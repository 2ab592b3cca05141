// The option --tile: "B=128,F=256", "smem:B=128,F=256", "best", "vmem:best".
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "predict/tiles.hpp"

namespace roofline::core {

/// Parses the values of --tile. Errors: invalid sizes.
[[nodiscard]] Result<std::vector<TileChoice>> tile_choices(const std::vector<std::string>& options);

}  // namespace roofline::core
