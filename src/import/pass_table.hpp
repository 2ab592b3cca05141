// Reads tables of llama.cpp's benchmark: tokens per second of prompts (pp N) and of generation (tg N) by model and
// quantisation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "import/table_fields.hpp"

namespace roofline::core {

/// One measurement.
struct MeasuredPass {
    int line = 0;              ///< in the table
    std::string source;        ///< the publisher
    std::string system;        ///< as the table names it: "4090 24GB"
    std::string model;         ///< likewise
    std::string weights;       ///< "Q4_K_M", "F16"
    std::string software;      ///< library and version in lower case: "llama.cpp 081fe431"
    std::int64_t chips = 1;    ///< pipeline stages that the layers are split over
    std::int64_t threads = 0;  ///< of a processor; 0: all cores
    bool generates = false;    ///< tg: tokens after an empty context; pp: a prompt
    std::int64_t tokens = 0;   ///< generated, or of the prompt
    double tokens_per_s = 0;

    /// Seconds per generated token, or of the whole prompt.
    [[nodiscard]] double seconds() const { return (generates ? 1 : static_cast<double>(tokens)) / tokens_per_s; }
};

struct PassTable {
    std::vector<MeasuredPass> rows;
    std::vector<SkippedRow> skipped;
};

/// Returns true if the columns are those of the table below.
[[nodiscard]] bool is_pass_table(const std::vector<std::string>& columns);

/// Reads the rows after the header. Required columns: `model`; `accelerator`, `system` or `machine`; `quant`; `test`
/// (`pp512`, `tg128`), `tokens_per_s`. Optional columns: `backend` or `software`, `n_accel`, `source`, `notes` (`8
/// threads`). A row with another test is skipped with the reason. Errors, with line and column: a missing column; a
/// value that is not a positive number.
[[nodiscard]] Result<PassTable> read_pass_table(CsvReader& reader);

}  // namespace roofline::core
