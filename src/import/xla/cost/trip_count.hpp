// How often a loop of XLA runs.
#pragma once

#include <cstdint>
#include <optional>

#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// Returns the number of iterations of a `while` in the computation `caller`: what the compiler wrote down
/// (`known_trip_count`), or else what follows from its condition `i OP constant` (LT, LE, GT, GE, NE or EQ, operands in
/// either order), a constant initial value of i, and a constant step in its body. Values are followed through tuples,
/// copies, conversions, additions, fusions and calls; state that the body leaves alone counts as its initial value.
/// Nothing if the loop has another form, never ends, or its count does not fit into 63 bits. As in XLA, the range of a
/// type narrower than 64 bits plays no part.
[[nodiscard]] std::optional<std::int64_t> trip_count(const XlaModule& module, const XlaInstruction& a_while,
                                                     const XlaComputation& caller);

}  // namespace roofline::core
