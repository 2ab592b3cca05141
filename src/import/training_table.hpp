// Reads tables of training runs: step times or token rates, and memory per device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "import/table_fields.hpp"

namespace roofline::core {

/// One measurement. A count of 0 and an empty string mean that the table does not say.
struct MeasuredTraining {
    int line = 0;        ///< in the table
    std::string source;  ///< the publisher
    std::string table;   ///< the publisher's table
    std::string notes;   ///< in words
    std::string model;   ///< as the table names it: "llama3-70b"
    double params = 0;   ///< number of parameters according to the table
    std::int64_t layers = 0;
    std::int64_t hidden = 0;
    std::int64_t ffn = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t vocab = 0;
    std::int64_t sequence = 0;     ///< tokens per sequence
    std::int64_t sequences = 0;    ///< per step, all devices together
    std::int64_t micro_batch = 0;  ///< sequences per micro-batch of a replica
    std::string system;            ///< as the table names it: "A100-80GB"
    std::int64_t chips = 0;
    std::string dtype;  ///< of matmuls: "bf16", "mxfp8"
    std::int64_t data = 0;
    std::int64_t tensor = 0;
    std::int64_t pipeline = 0;
    std::int64_t expert = 0;
    std::int64_t context = 0;
    std::string sharding;   ///< of parameters and optimizer states: "none", "zero1", "fsdp2(zero3)"
    std::string recompute;  ///< "none", "selective", "full", "unknown"
    double step_s = 0;
    double model_flops = 0;         ///< FLOP/s of the model per chip, by the publisher's convention
    std::string policy{};           ///< recomputation as the framework names it: "qkv_proj_offloaded"
    std::string remat{};            ///< value of --remat that a recipe says; "": none
    double capacity = 0;            ///< capacity factor of experts, as a recipe states it; 0: no token is dropped
    std::int64_t slices = 0;        ///< slices of a torus that are connected by a slower network
    bool data_over_slices = false;  ///< parameters are sharded inside a slice, and slices are replicas
    double memory_bytes = 0;        ///< per device
    bool memory_in_gib = false;     ///< the table's unit is GiB, as its notes say
    std::string memory_what;        ///< "allocated", "reserved"; "" if the notes do not say
    std::int64_t chunks = 1;        ///< virtual stages per pipeline stage (vpp)
    std::int64_t microbatches = 0;  ///< per step, if the notes say
    bool local_batch = false;       ///< micro_batch is a replica's whole batch of a step
    bool exchanged_heads = false;   ///< context parallelism exchanges heads (A2A) instead of gathering keys
    bool whole_tokens = false;      ///< without Megatron's sequence parallelism
    bool eager = false;             ///< without a compiler
    bool f32_gradients = false;     ///< gradients are stored in f32, as in Megatron

    std::int64_t experts = 0;               ///< of a layer
    std::int64_t expert_ffn = 0;            ///< width of an expert
    std::int64_t expert_tensor = 0;         ///< chips that share an expert by its columns (Megatron's etp)
    std::vector<std::string> overlapped{};  ///< axes whose collectives overlap with matmuls, as the table says
    bool in_turn = false;                   ///< the table says that no collectives overlap
    bool lora = false;                      ///< only low-rank adapters were trained

    /// The run as text: "llama3-70b 16x2048", or "llama3-70b LoRA 16x2048".
    [[nodiscard]] std::string shape() const;
};

struct TrainingTable {
    std::vector<MeasuredTraining> rows;
    std::vector<SkippedRow> skipped;
};

/// Returns true if the columns are those of the table below.
[[nodiscard]] bool is_training_table(const std::vector<std::string>& columns);

/// Reads the rows after the header. Required columns: `model`, `accelerator`, `system` or `machine`, `n_accel`,
/// `seq_len` or `seq`, `global_batch_seqs` or `global_batch`, `dp`, `tp`, `pp`, and `step_time_s` or
/// `tokens_per_s_per_accel`. Optional columns: `repo_or_paper` or `source`, `params_B`, `layers`, `hidden`, `ffn`,
/// `heads`, `kv_heads`, `vocab`, `micro_batch`, `dtype`, `ep`, `cp`, `zero_stage_or_fsdp` or `sharding`, `recompute`,
/// `memory_GB_per_accel` or `memory_GB`, `notes`. Tables of plans have further columns (plan_columns.hpp) instead of
/// words in their notes. Notes of other tables may contain `vpp=4`,
/// `micro_batches=8`, `micro_num=4`, `GiB` (of the memory), `allocated`, `reserved`, `lbs=` (over all micro-batches),
/// `cp A2A`, `no SP`, `Megatron`, `eager`, `LoRA`, and what MaxText calls its settings: `remat_policy=minimal`,
/// `ici_fsdp_parallelism=32`, `ici_fsdp32`, `tp4`, `dcn_fsdp2`, `2x v5e-256` (slices), `data parallel across slices`.
/// Such axes replace empty columns. A rate in FLOP/s of the model (`tflops_per_accel`) is a time where the publisher's
/// convention is known. A row without a time, such a rate and memory, or without a model, machine, batch or sequence
/// length is skipped with the reason. Errors, with line and column: a
/// missing column; a value that is not a positive number.
[[nodiscard]] Result<TrainingTable> read_training_table(CsvReader& reader);

}  // namespace roofline::core
