// Reads tables of serving measurements: TTFT, TPOT or throughput of a model on a system, with its parallelism and
// concurrency.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "import/benchmark_load.hpp"
#include "import/table_fields.hpp"

namespace roofline::core {

/// A group of chips that hold a model together, and its degrees of parallelism: 1 if the table does not say.
struct ServingWorker {
    std::int64_t tensor = 1;
    std::int64_t pipeline = 1;
    std::int64_t data = 1;    ///< data parallelism of attention
    std::int64_t expert = 1;  ///< expert parallelism over the same chips

    /// tensor x pipeline x data, but at least the degree of expert parallelism.
    [[nodiscard]] std::int64_t chips() const;
    [[nodiscard]] std::string text() const;  ///< "tp4 dp2 ep8"; "tp1"

    bool operator==(const ServingWorker&) const = default;
};

/// One measurement.
struct MeasuredServing {
    int line = 0;                        ///< in the table
    std::string source;                  ///< the publisher
    std::string model;                   ///< as the table names it
    std::string system;                  ///< as the table names it: "h100_sxm"
    std::int64_t chips = 1;              ///< of the whole deployment, as far as the table says
    bool all_chips = true;               ///< whether `chips` counts those of all workers
    ServingWorker worker;                ///< a worker for decode
    bool disaggregated = false;          ///< prefill has workers of its own
    std::int64_t decode_workers = 1;     ///< number of equal decode workers; 0: unknown
    std::int64_t decode_chips = 1;       ///< of one decode worker, or an upper limit: all chips that it may use
    std::int64_t prefill_chips = 0;      ///< that one prompt is prefilled on, or an upper limit; 0: unknown
    ServingWorker prefill_worker;        ///< of disaggregated serving, if `prefill_workers` is not 0
    std::int64_t prefill_workers = 0;    ///< number of equal workers of its own for prefill; 0: none, or unknown
    std::string dtype;                   ///< of the weights, as the table says: "fp8", "?"
    std::string kv_dtype;                ///< "": unknown
    double stated_prompt = 0;            ///< prompt tokens as the table states them
    double stated_output = 0;            ///< output tokens, likewise
    double prompt = 0;                   ///< mean number of prompt tokens of the requests that were sent
    double output = 0;                   ///< mean number of output tokens, likewise
    BenchmarkDrive drive{};              ///< how the publisher drove the server (data/benchmark_loads.toml)
    std::optional<double> concurrency;   ///< limit on concurrent requests; none: no limit
    std::optional<double> ttft_s;        ///< time to first token (TTFT), including queueing
    std::optional<double> tpot_s;        ///< time per output token (TPOT)
    std::optional<double> tokens_per_s;  ///< output tokens of the whole deployment
    std::string software;                ///< library and version in lower case

    /// The parallelism as text: "tp8 ep8", "tp8 pp2", "disagg tp1 dp32 ep32".
    [[nodiscard]] std::string strategy() const;

    /// Mean number of concurrently decoded sequences in the whole deployment by Little's law: output tokens per second
    /// times TPOT; else the number of requests times the fraction of its time that a request spends in decode. None if
    /// neither is known.
    [[nodiscard]] std::optional<double> decoding() const;
};

struct ServingTable {
    std::vector<MeasuredServing> rows;
    std::vector<SkippedRow> skipped;
};

/// Returns true if the columns are those of the table below.
[[nodiscard]] bool is_serving_table(const std::vector<std::string>& columns);

/// Reads the rows after the header. Required columns: `model`; `accelerator`, `system` or `machine`; `input_len` or
/// `isl`, `output_len` or `osl` (a number, or `mean512` if requests differ); `batch_or_concurrency` or `concurrency` (a
/// number, `inf`, or a text with `max_num_seqs 128`), and at least one of `ttft_s`, `tpot_s`, `tokens_per_s`,
/// `ttft_ms`, `tpot_ms` and `out_tok_s_gpu` (output tokens/s per chip). Optional columns: `n_accel`, `tp`, `pp`, `ep`,
/// `dp` (0 or empty: unknown), `dp_attn` (true where all chips of `tp` attend to sequences of their own, or a number of
/// members), `dtype` or `precision`, `kv_dtype`, `mode` (values that begin with `disagg` mean disaggregated prefill),
/// `source`, `software`, `lib` or `framework` with `version`, `notes` (the software; `P:1x(tp4 dp1 ep1) D:2x(tp8 dp1
/// ep8)`, the prefill and decode workers), `prefill_workers`, `prefill_tp` and so on and `decode_workers`, `decode_tp`
/// and so on (the same in columns), `measured` (rows with `no` are skipped), `spec_decode` (rows with any but `none`
/// are skipped). Numbers of workers that are not given are those that follow from `n_accel`, if only one pair does. An
/// incomplete row is skipped with the reason. Errors, with line and column: a missing column; a value that is not a
/// positive number.
[[nodiscard]] Result<ServingTable> read_serving_table(CsvReader& reader);

}  // namespace roofline::core
