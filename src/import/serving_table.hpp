// Tables of served models: how long tokens took, on what, split how, with how many requests at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "import/table_fields.hpp"

namespace roofline::core {

/// Chips that hold a model together, and how it lies on them: each axis 1 where the table does not say.
struct ServingWorker {
    std::int64_t tensor = 1;
    std::int64_t pipeline = 1;
    std::int64_t data = 1;    ///< members that attend to sequences of their own
    std::int64_t expert = 1;  ///< of the chips above, not beside them

    /// tensor x pipeline x data, and no fewer than the experts lie on.
    [[nodiscard]] std::int64_t chips() const;
    [[nodiscard]] std::string text() const;  ///< "tp4 dp2 ep8"; "tp1"

    bool operator==(const ServingWorker&) const = default;
};

/// One row.
struct MeasuredServing {
    int line = 0;                        ///< of the table
    std::string source;                  ///< who published it
    std::string model;                   ///< as the table names it
    std::string system;                  ///< likewise: "h100_sxm"
    std::int64_t chips = 1;              ///< of the whole set-up, as far as the table says
    ServingWorker worker;                ///< that decodes
    bool disaggregated = false;          ///< prompts go in elsewhere
    std::int64_t decode_workers = 1;     ///< alike; 0: not said
    std::int64_t decode_chips = 1;       ///< of one of them, or more: of all that may be its
    std::int64_t prefill_chips = 0;      ///< that a prompt goes in on, likewise; 0: not said
    std::string dtype;                   ///< of the weights, as the table says: "fp8", "?"
    std::string kv_dtype;                ///< "": not said
    double prompt = 0;                   ///< tokens that go in, the mean
    double output = 0;                   ///< tokens that come out, the mean
    std::optional<double> concurrency;   ///< requests at a time at the most; none: no limit
    std::optional<double> ttft_s;        ///< to the first token, waiting included
    std::optional<double> tpot_s;        ///< from one token to the next of a sequence
    std::optional<double> tokens_per_s;  ///< that come out of the whole set-up
    std::string software;                ///< library and version in lower case

    /// "tp8 ep8", "tp8 pp2", "disagg tp1 dp32 ep32"
    [[nodiscard]] std::string strategy() const;

    /// Sequences that are decoded at a time, on average and in the whole set-up, by Little's law: tokens a second times seconds a
    /// token; else requests times the share of its time that one spends behind its first token. None where that cannot be said.
    [[nodiscard]] std::optional<double> decoding() const;
};

struct ServingTable {
    std::vector<MeasuredServing> rows;
    std::vector<SkippedRow> skipped;
};

/// True when the columns are those of the table below.
[[nodiscard]] bool is_serving_table(const std::vector<std::string>& columns);

/// Reads the rows behind the header. Columns: `model`, `accelerator` or `system`, `input_len`, `output_len` (a number, `mean512` for
/// requests that differ), `batch_or_concurrency` (a number, `inf`, a text with `max_num_seqs 128`), and at least one of `ttft_s`,
/// `tpot_s` and `tokens_per_s`. May have: `n_accel`, `tp`, `pp`, `ep`, `dp` (0 or empty: not said), `dtype`, `kv_dtype`, `mode` (what
/// begins with `disagg` takes prompts in elsewhere), `source`, `notes` (the software; `P:1x(tp4 dp1 ep1) D:2x(tp8 dp1 ep8)`, workers
/// that prefill and decode). A row that lacks something is skipped, with the reason. Errors, with line and column: a column missing;
/// what is no number, or not above zero.
[[nodiscard]] Result<ServingTable> read_serving_table(CsvReader& reader);

}  // namespace roofline::core
