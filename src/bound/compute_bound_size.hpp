#pragma once

#include <string>
#include <vector>

#include "bound/analysis.hpp"

namespace roofline::core {

/// From which size of each dimension compute takes longer than every level together: of the dimension's critical sizes the
/// one that decides, in the order of `sizes`. Where one level is the longer at every size, none makes it compute-bound; where
/// compute overtakes one level and falls behind another, the dimension is left out. The limit is kept when every level that
/// compute does not outlast anyway has one.
[[nodiscard]] std::vector<CriticalSize> compute_bound_sizes(const std::vector<CriticalSize>& sizes);

}  // namespace roofline::core
