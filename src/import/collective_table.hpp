// Reads tables of collective measurements.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/table_fields.hpp"
#include "network/measured_collective.hpp"

namespace roofline::core {

struct CollectiveTable {
    std::vector<MeasuredCollective> rows;
    std::vector<SkippedRow> skipped;
};

/// Returns true if the columns are those of such a table: `op`, `n_devices`, `bytes` and a time or a rate.
[[nodiscard]] bool is_collective_table(const std::vector<std::string>& columns);

/// Reads the rows after the header. Columns:
/// - `system` or `accelerator`; `link`;
/// - `n_devices`, the devices of one group; `n_nodes`;
/// - `op`: all_gather, reduce_scatter, all_reduce, all_to_all, collective_permute, ppermute, send_recv or send, with or
/// without '_' and '-';
/// - `bytes`, the size as nccl-tests define it (of the buffer; all-gather: of the result; reduce-scatter and
/// all-to-all: of one rank's input; send: of one message);
/// - `time_s`, `time_ms` or `time_us`; if that is empty, `busbw_GBs` or `algbw_GBs`;
/// - `dtype`; `lib`, else `source`, which name the software; `note` or `notes`.
/// `op`, `n_devices`, `bytes`, the system and one of the times are required. A row with an empty required field,
/// another operation or a single device is skipped, with the reason. Errors, with line and column: a missing column; a
/// value that is not a positive number.
[[nodiscard]] Result<CollectiveTable> read_collective_table(CsvReader& reader);

/// The operation that a word names, ignoring '_', '-' and case.
[[nodiscard]] std::optional<CollectiveKind> collective_in(std::string_view text);

/// Bytes of the group's whole array, from a size as nccl-tests define it.
[[nodiscard]] double whole_bytes(CollectiveKind kind, double size, double members);

}  // namespace roofline::core
