#pragma once

#include <string>
#include <vector>

#include "bound/analysis.hpp"

namespace roofline::core {

/// Returns the size of each dimension from which compute takes longer than every level: the decisive one of the
/// dimension's critical sizes, in the order of `sizes`. If one level takes longer at every size, the dimension never
/// makes the work compute-bound; if compute overtakes one level and falls behind another, the dimension is left out.
/// The limit is kept when every level that compute does not always exceed has one.
[[nodiscard]] std::vector<CriticalSize> compute_bound_sizes(const std::vector<CriticalSize>& sizes);

}  // namespace roofline::core
