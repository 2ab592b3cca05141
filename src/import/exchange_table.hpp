// Reads tables of expert dispatch and combine measurements.
#pragma once

#include <string>
#include <vector>

#include "import/table_fields.hpp"
#include "network/measured_exchange.hpp"

namespace roofline::core {

struct ExchangeTable {
    std::vector<MeasuredExchange> rows;
    std::vector<SkippedRow> skipped;
};

/// Returns true if the columns are those of such a table: `topk`, `experts`, `hidden`, the operation (`op` or `phase`)
/// and tokens.
[[nodiscard]] bool is_exchange_table(const std::vector<std::string>& columns);

/// Reads the rows after the header. Columns:
/// - `system` or `accelerator`; `op` or `phase`: dispatch or combine;
/// - `ep_size`, the chips that take part; by default those of the `n_nodes` nodes;
/// - `tokens_per_rank` or `tokens`, those of one chip; `hidden`, `topk`, `experts`;
/// - `impl` or `kernel`, the kernels used (deepep_ll, deepep_normal); `sms`, the cores that they may use;
/// - `dtype` of the rows; by default fp8 for dispatch by DeepEP and bf16 otherwise;
/// - `distribution`, how experts are chosen (uniform, balanced);
/// - `time_s`, `time_ms` or `time_us`; `source`, which names the software.
/// A row with an empty required field is skipped, with the reason. Errors, with line and column: a missing column; a
/// value that is not a positive number.
[[nodiscard]] Result<ExchangeTable> read_exchange_table(CsvReader& reader);

}  // namespace roofline::core
