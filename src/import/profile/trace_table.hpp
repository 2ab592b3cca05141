// Traces as CSV: cuda_gpu_trace and cuda_kern_exec_trace of Nsight Systems, results.csv of rocprof, the traces of
// kernels and copies of rocprofv2 and rocprofv3.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "import/profile/recorded_profile.hpp"

namespace roofline::core {

/// Whether a file that begins so is such a trace, or another table of these profilers without kernels, which
/// read_trace_table() refuses by its name.
[[nodiscard]] bool is_trace_table(std::string_view beginning);

/// Reads a trace. Lines before its columns are skipped. Times may be in any unit that their columns name, and rows in
/// any order; of counters each kernel counts once. The table may end within its last row. Errors: `unknown_table` for
/// a table without kernels, with what to export instead; `bad_number`, with its place; those of CsvReader; `too_large`
/// beyond 50 million rows; `no_kernels`.
[[nodiscard]] Result<RecordedProfile> read_trace_table(std::string_view text, const std::string& name);

}  // namespace roofline::core
