// Tables of timed exchanges with experts.
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

/// True when the columns are those of such a table: `topk`, `experts`, `hidden`, what is timed (`op` or `phase`) and tokens.
[[nodiscard]] bool is_exchange_table(const std::vector<std::string>& columns);

/// Reads the rows behind the header. Columns: `system` or `accelerator`; `op` or `phase`, dispatch or combine; `ep_size`, the chips that
/// exchange, else as many as the `n_nodes` nodes have; `tokens_per_rank` or `tokens`, those of one chip; `hidden`, `topk`, `experts`;
/// `impl` or `kernel`, whose kernels (deepep_ll, deepep_normal); `sms`, the cores they may take; `dtype`, in which rows go, else fp8
/// for what DeepEP dispatches and bf16 for all others; `distribution`, how experts are chosen (uniform, balanced); `time_s`, `time_ms` or
/// `time_us`; `source` names the software. A row with an empty field that is needed is skipped, with the reason. Errors, with line
/// and column: a column missing; what is no number, or not above zero.
[[nodiscard]] Result<ExchangeTable> read_exchange_table(CsvReader& reader);

}  // namespace roofline::core
