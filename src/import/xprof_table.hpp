// Tools of xprof that list operations: `roofline_model` and `hlo_stats`, as JSON or CSV, and `op_profile`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "import/kernel_profile.hpp"
#include "text/csv.hpp"

namespace roofline::core {

/// Whether the beginning of a file is that of a tool of xprof: a table in the JSON of Google's charts, or an object of
/// op_profile, memory_viewer or pod_viewer.
[[nodiscard]] bool is_xprof_json(std::string_view beginning);
/// Whether columns are those of such a table as CSV, by their labels.
[[nodiscard]] bool is_xprof_table(const std::vector<std::string>& columns);

/// Reads the operations of a table. xprof states rates: FLOP/s over the whole time of an operation, and GiB/s. FLOPs
/// are those of the model, counted once whatever the dtype, and bytes those of the HBM, else of all memories. It does
/// not state dtypes: FLOPs of convolutions and matmuls are taken as bf16, in which xprof normalises rates, and others
/// as f32 of the vector units. Of a table with several steps the total counts; of rows for the whole program none.
/// An op_profile is read by read_op_profile(). Errors, with their place: no table of operations, another tool of xprof
/// by its name; a number that is none.
[[nodiscard]] Result<KernelProfile> read_xprof_json(std::string_view text, const std::string& source);
[[nodiscard]] Result<KernelProfile> read_xprof_table(CsvReader& reader);

/// FLOPs of an operation of a category, on the units and in the dtype that are taken for it.
[[nodiscard]] KernelFlops xprof_flops(std::string_view category, double flops);
inline constexpr std::string_view xprof_dtype_note =
    "xprof does not say in which dtype an operation computes: FLOPs of matmuls and convolutions are taken as bf16";

}  // namespace roofline::core
