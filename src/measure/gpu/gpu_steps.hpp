// Steps of a program as CUDA C++: one kernel per step, with its sizes and strides as constants.
#pragma once

#include <string>

#include "base/result.hpp"
#include "measure/run/steps.hpp"

namespace roofline::core {

/// Largest number of arrays that a kernel takes, its output included.
inline constexpr std::size_t max_gpu_arrays = 64;

/// The source of a kernel `roofline_step`, whose only argument is `struct Arrays { void* at[64]; }`: the inputs in
/// order, then the output.
struct GpuStepSource {
    std::string text;
    unsigned threads = 256;
    std::int64_t blocks = 1;  ///< number of blocks with work
    /// Pieces per row: more than one if rows are few. The output is then float or double[rows * pieces], and `join` is
    /// the source of the kernel that combines the pieces.
    std::int64_t pieces = 1;
    std::string join;
    std::int64_t join_blocks = 1;
    std::size_t partial_bytes = 0;
};

/// Source for elementwise, row and gather steps. `multiprocessors` is that of the device. Errors, code "unsupported":
/// the step cannot run; the message names it.
[[nodiscard]] Result<GpuStepSource> gpu_step_source(const RunStep& step, const StepProgram& program,
                                                    int multiprocessors);

/// Source in which `roofline_step` copies a row-major k by n matrix of one-byte elements to n by k.
[[nodiscard]] std::string gpu_transpose_source(std::int64_t k, std::int64_t n);

/// The beginning of every source: conversions of bf16, f16 and integers, and the elementwise functions.
[[nodiscard]] const std::string& gpu_step_prelude();

}  // namespace roofline::core
