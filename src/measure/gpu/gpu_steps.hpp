// Steps of a program as CUDA C++: one kernel for each, its sizes and strides written into it.
#pragma once

#include <string>

#include "base/result.hpp"
#include "measure/run/steps.hpp"

namespace roofline::core {

/// The most arrays that a kernel takes, its output included.
inline constexpr std::size_t most_gpu_arrays = 64;

/// `struct Arrays { void* at[64]; }` is the only argument of `roofline_step`, the kernel of the source: inputs in their order, then the output.
struct GpuStepSource {
    std::string text;
    unsigned threads = 256;
    std::int64_t blocks = 1;  ///< that have something to do
    std::int64_t pieces =
        1;  ///< of a row: more than one where rows are few; the output is then float or double[rows * pieces],
    std::string join;  ///< and this the source of the kernel that makes the result of it
    std::int64_t join_blocks = 1;
    std::size_t partial_bytes = 0;
};

/// Elementwise, row and gather steps. `multiprocessors`: of the device. Errors, code "unsupported": what it cannot do, by name.
[[nodiscard]] Result<GpuStepSource> gpu_step_source(const RunStep& step, const StepProgram& program,
                                                    int multiprocessors);

/// `roofline_step` copies a k by n matrix of elements of one byte, row by row, to n by k.
[[nodiscard]] std::string gpu_transpose_source(std::int64_t k, std::int64_t n);

/// What every source begins with: conversions of bf16, f16 and whole numbers, and the functions.
[[nodiscard]] const std::string& gpu_step_prelude();

}  // namespace roofline::core
