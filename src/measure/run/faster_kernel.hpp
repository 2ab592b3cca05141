// Which of two kernels for one step is faster here: libraries do not always know.
#pragma once

#include <memory>

#include "measure/run/device.hpp"

namespace roofline::core {

/// True when `second` is faster than `first`, as timed by a few runs of each in turn over arrays of the step's sizes that hold no
/// zeros. False where both are, where less memory is free than four times those arrays, and for steps too small to matter.
/// Errors: what the kernels fail with; no memory.
[[nodiscard]] Result<bool> second_is_faster(StepKernel& first, StepKernel& second, const RunStep& step,
                                            const StepProgram& program, Device& device);

}  // namespace roofline::core
