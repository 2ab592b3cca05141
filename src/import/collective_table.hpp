// Tables of timed collectives.
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

/// True when the columns are those of such a table: `op`, `n_devices`, `bytes` and a time or a rate.
[[nodiscard]] bool is_collective_table(const std::vector<std::string>& columns);

/// Reads the rows behind the header. Columns: `system` or `accelerator`; `link`; `n_devices`, those of one group; `n_nodes`; `op`;
/// `bytes`, the size as nccl-tests count it (of the buffer; all-gather: of the result; reduce-scatter and all-to-all: of one
/// rank's input; send: what goes one way from one device to another); `time_s`, `time_ms` or `time_us`, where that is empty `busbw_GBs` or `algbw_GBs`; `dtype`; `lib`, else `source`,
/// names the software; `note` or `notes`. `op`, `n_devices`, `bytes`, the system and one of the times must be there. Operations: all_gather,
/// reduce_scatter, all_reduce, all_to_all, collective_permute, send_recv and send, with or without '_' or '-'.
/// A row with an empty field that is needed, another operation or one device is skipped, with the reason. Errors, with
/// line and column: a column missing; what is no number, or not above zero.
[[nodiscard]] Result<CollectiveTable> read_collective_table(CsvReader& reader);

/// The operation that a word names, with or without '_', '-' and case.
[[nodiscard]] std::optional<CollectiveKind> collective_in(std::string_view text);

/// The whole array of the group, of a size as nccl-tests count it.
[[nodiscard]] double whole_bytes(CollectiveKind kind, double size, double members);

}  // namespace roofline::core
