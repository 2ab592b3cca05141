// The error of kernel models that were fitted to few measurements.
#pragma once

#include "calibrate/kernel/kernel_fit.hpp"
#include "calibrate/kernel/kernel_kinds.hpp"

namespace roofline::core {

/// Returns the error of a model inside the range of sizes that it was fitted to: that of its held-out measurements, and
/// at least that of models of as many measurements. The held-out error of a few rows varies much, and says nothing of
/// sizes between those that a table has.
[[nodiscard]] double error_in_range(const KernelFit& fit, KernelKind kind);

}  // namespace roofline::core
