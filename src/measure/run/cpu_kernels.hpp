// Kernels for the processor that need no library.
#pragma once

#include <memory>

#include "measure/run/device.hpp"
#include "measure/run/team.hpp"

namespace roofline::core {

/// Makes a kernel for any kind of step.
[[nodiscard]] std::unique_ptr<StepKernel> make_cpu_kernel(const RunStep& step, const StepProgram& program, Team& team);

/// Makes a kernel that routes rows, moves them to experts and back, or adds rows up at given indices.
[[nodiscard]] std::unique_ptr<StepKernel> make_expert_kernel(const RunStep& step, const StepProgram& program,
                                                             Team& team);

/// Makes a kernel for a matmul of any dtypes. `a`, `b` and `c` are laid out as the step says; b is packed if it is a
/// weight.
[[nodiscard]] std::unique_ptr<StepKernel> make_plain_matmul(const MatmulStep& step, Team& team);

}  // namespace roofline::core
