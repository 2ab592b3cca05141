// What padding to the matrix unit costs: FLOPs that are done but not asked for.
#pragma once

#include <optional>
#include <vector>

#include "bound/analysis.hpp"

namespace roofline::core {

/// For machines whose matrix units are square arrays of a known side: the summed dimensions of every product, and those of the
/// stationary operand (whichever side loses less), are padded to whole sides. Empty when nothing is lost or no side is known.
[[nodiscard]] std::optional<Padding> padding_of(const Program& program, const std::vector<const KernelWork*>& kernels,
                                                const Machine& machine, const Pricing& pricing);

}  // namespace roofline::core
