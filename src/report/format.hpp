// Output formats of an answer.
#pragma once

#include <cstdint>

namespace roofline::core {

enum class Format : std::uint8_t { text, json, csv, markdown };

/// The picture that accompanies an answer of `roofline op`.
enum class PlotKind : std::uint8_t { none, roofline, sweep, mesh, timeline };

}  // namespace roofline::core
