// Tables of xprof: `roofline_model` and `hlo_stats`, as JSON or CSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "import/kernel_profile.hpp"
#include "text/csv.hpp"

namespace roofline::core {

/// Whether the beginning of a file is that of a table in the JSON of Google's charts, as xprof writes it.
[[nodiscard]] bool is_xprof_json(std::string_view beginning);
/// Whether columns are those of such a table as CSV, by their labels.
[[nodiscard]] bool is_xprof_table(const std::vector<std::string>& columns);

/// Reads the operations of a table. xprof states rates: FLOP/s over the whole time of an operation, and GiB/s. FLOPs
/// are those of the model, counted once whatever the dtype, and bytes those of the HBM, else of all memories. It does
/// not state dtypes: FLOPs of convolutions and matmuls are taken as bf16, in which xprof normalises rates, and others
/// as f32 of the vector units. Of a table with several steps the total counts; of rows for the whole program none.
/// Errors, with their place: no table of operations; a number that is none.
[[nodiscard]] Result<KernelProfile> read_xprof_json(std::string_view text, const std::string& source);
[[nodiscard]] Result<KernelProfile> read_xprof_table(CsvReader& reader);

}  // namespace roofline::core
