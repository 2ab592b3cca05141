// What a fusion of XLA costs: its computation is evaluated without touching memory, except for parameters and results.
#pragma once

#include "import/xla/cost/xla_cost_scope.hpp"

namespace roofline::core {

/// Returns the cost of a fusion, and keeps what is known of its computation in `done.fused`, which is the `done` of the
/// scope. Errors: a computation whose parameters do not fit the operands.
[[nodiscard]] Result<XlaCost> fusion_cost(const XlaCostScope& scope, const XlaInstruction& at, XlaModuleCost& done);

}  // namespace roofline::core
