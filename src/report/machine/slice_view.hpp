// Printed forms of `roofline machine NAME:SHAPE`: the network of slices and totals over their chips.
#pragma once

#include <string>
#include <vector>

#include "network/slice.hpp"
#include "report/format.hpp"

namespace roofline::core {

/// Returns a column (in JSON an object) per slice: chips, links and which axes wrap around, bisection bandwidth of each
/// tier per direction, total peak rates, memory and power, and the times of collectives of 1 GB over all chips, each
/// run alone, at published rates.
[[nodiscard]] std::string slice_show(const std::vector<Slice>& slices, Format format);

}  // namespace roofline::core
