// The steps on the processor, without any library.
#pragma once

#include <memory>

#include "measure/run/device.hpp"
#include "measure/run/team.hpp"

namespace roofline::core {

/// All steps.
[[nodiscard]] std::unique_ptr<StepKernel> make_cpu_kernel(const RunStep& step, const StepProgram& program, Team& team);

/// Routes, rows to experts and back, and rows that are added up where their numbers say.
[[nodiscard]] std::unique_ptr<StepKernel> make_expert_kernel(const RunStep& step, const StepProgram& program,
                                                             Team& team);

/// A matrix product of any dtypes. `a`, `b` and `c` are as they stand in the step; b is packed when it is a weight.
[[nodiscard]] std::unique_ptr<StepKernel> make_plain_matmul(const MatmulStep& step, Team& team);

}  // namespace roofline::core
