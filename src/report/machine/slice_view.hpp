// What `roofline machine NAME:SHAPE` answers: the wiring of slices and what their chips have together.
#pragma once

#include <string>
#include <vector>

#include "network/slice.hpp"
#include "report/format.hpp"

namespace roofline::core {

/// A column (in JSON an object) for each slice: chips, wires and which of them close, bisection of each tier one way,
/// sums of peaks, memory and power, and collectives of 1 GB over all chips, each by itself, from the published rates.
[[nodiscard]] std::string slice_show(const std::vector<Slice>& slices, Format format);

}  // namespace roofline::core
