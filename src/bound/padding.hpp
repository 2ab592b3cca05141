// The cost of padding to the matrix unit: FLOPs that are executed but not needed.
#pragma once

#include <optional>
#include <vector>

#include "bound/analysis.hpp"

namespace roofline::core {

/// Returns the padding on machines whose matrix units are square arrays of a known side: the summed dimensions of every
/// contraction, and those of the stationary operand (the side that loses less), are padded to whole sides. Empty when
/// there is no padding or no known side.
[[nodiscard]] std::optional<Padding> padding_of(const Program& program, const std::vector<const KernelWork*>& kernels,
                                                const Machine& machine, const Pricing& pricing);

}  // namespace roofline::core
