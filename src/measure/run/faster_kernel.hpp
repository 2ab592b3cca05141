// Measures which of two kernels runs a step faster on this machine because libraries do not always choose well.
#pragma once

#include <memory>

#include "measure/run/device.hpp"

namespace roofline::core {

/// Returns true if `second` is faster than `first`, timed over a few alternating runs on non-zero arrays of the step's
/// sizes. Returns false if they are equally fast, if less than four times the memory of those arrays is free, and for
/// steps too small to matter. Errors: those of the kernels; not enough memory.
[[nodiscard]] Result<bool> second_is_faster(StepKernel& first, StepKernel& second, const RunStep& step,
                                            const StepProgram& program, Device& device);

}  // namespace roofline::core
