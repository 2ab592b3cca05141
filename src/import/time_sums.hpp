// Sums of times over kernels: cuda_gpu_kern_sum of Nsight Systems, stats.csv of rocprof.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "import/kernel_profile.hpp"
#include "import/profiler_table.hpp"

namespace roofline::core {

/// Reads the sums of a table that find_profiler_table() has found in `text`. Kernels have times, and neither FLOPs nor
/// bytes. Rows of copies and of calls of the host are left out, with a note. Errors: `unknown_table` for sums over
/// calls of the host only; `bad_number`, with its place; those of CsvReader.
[[nodiscard]] Result<KernelProfile> read_time_sums(std::string_view text, const ProfilerTable& table,
                                                   const std::string& source);

}  // namespace roofline::core
