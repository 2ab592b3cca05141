// Tables of training set-ups and how fast they trained: a step's time or a rate of tokens, and what a device held.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "import/table_fields.hpp"

namespace roofline::core {

/// One row. A count of 0 and a text of "" is what the table does not say.
struct MeasuredTraining {
    int line = 0;        ///< of the table
    std::string source;  ///< who published it
    std::string table;   ///< where it stands there
    std::string notes;   ///< in words
    std::string model;   ///< as the table calls it: "llama3-70b"
    double params = 0;   ///< parameters that the table gives it
    std::int64_t layers = 0;
    std::int64_t hidden = 0;
    std::int64_t ffn = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t vocab = 0;
    std::int64_t sequence = 0;     ///< tokens
    std::int64_t sequences = 0;    ///< of one step, all devices together
    std::int64_t micro_batch = 0;  ///< sequences that a replica takes at a time
    std::string system;            ///< as the table names it: "A100-80GB"
    std::int64_t chips = 0;
    std::string dtype;  ///< of products: "bf16", "mxfp8"
    std::int64_t data = 0;
    std::int64_t tensor = 0;
    std::int64_t pipeline = 0;
    std::int64_t expert = 0;
    std::int64_t context = 0;
    std::string sharding;   ///< of parameters and states: "none", "zero1", "fsdp2(zero3)"
    std::string recompute;  ///< "none", "selective", "full", "unknown"
    double step_s = 0;
    double memory_bytes = 0;        ///< of one device
    bool memory_in_gib = false;     ///< in the table, as its notes say
    std::string memory_what;        ///< "allocated", "reserved"; "" where the notes do not say
    std::int64_t chunks = 1;        ///< of layers in a stage, that are not neighbours (vpp)
    std::int64_t microbatches = 0;  ///< of a step, where the notes say
    bool local_batch = false;       ///< micro_batch is all that a replica takes in a step
    bool exchanged_heads = false;   ///< the context is split by exchanging heads, not by gathering keys (A2A)
    bool whole_tokens = false;      ///< without Megatron's sequence parallelism
    bool eager = false;             ///< operation by operation, without a compiler
    bool f32_gradients = false;     ///< gradients are held in f32, as Megatron does

    /// "llama3-70b 16x2048"
    [[nodiscard]] std::string shape() const;
};

struct TrainingTable {
    std::vector<MeasuredTraining> rows;
    std::vector<SkippedRow> skipped;
};

/// True when the columns are those of the table below.
[[nodiscard]] bool is_training_table(const std::vector<std::string>& columns);

/// Reads the rows behind the header. Columns: `model`, `accelerator` or `system`, `n_accel`, `seq_len`, `global_batch_seqs`, `dp`, `tp`, `pp`, and
/// `step_time_s` or `tokens_per_s_per_accel`; there may be `repo_or_paper` or `source`, `params_B`, `layers`, `hidden`, `ffn`, `heads`,
/// `kv_heads`, `vocab`, `micro_batch`, `dtype`, `ep`, `cp`, `zero_stage_or_fsdp`, `recompute`, `memory_GB_per_accel`, `notes`.
/// Notes say `vpp=4`, `micro_batches=8`, `micro_num=4`, `GiB` (of the memory), `allocated`, `reserved`, `lbs=` (of all
/// microbatches), `cp A2A`, `no SP`, `Megatron`, `eager`, `LoRA`, whose row is skipped. A row with neither a time nor memory, or without a model, machine, batch or sequence is skipped with the reason. Errors, with line and column:
/// a column missing; what is no number, or not above zero.
[[nodiscard]] Result<TrainingTable> read_training_table(CsvReader& reader);

}  // namespace roofline::core
