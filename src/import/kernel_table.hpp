// Reads tables of timed kernels: matmuls, elementwise operations, attention. Every row becomes a program in the
// notation.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "import/table_fields.hpp"

namespace roofline::core {

/// One measurement.
struct MeasuredKernel {
    int line = 0;           ///< in the table
    std::string source;     ///< the publisher, as the table says
    std::string system;     ///< as the table names it: "h100_sxm"
    std::string operation;  ///< "matmul", "attention_prefill", "attention_decode", "softmax" ...
    std::string dtype;      ///< as the table says: "bf16", "fp8_block"
    std::string program;    ///< in the notation, without sizes
    /// Sizes of all its dimensions, in the same order for the same program.
    std::vector<std::pair<std::string, std::int64_t>> sizes;
    double time_s = 0;
    double rounding_s = 0;  ///< largest rounding error of the time because of the table's clock
    std::string software;   ///< library and version in lower case, "vllm 0.14.0"; "" if unknown
    /// How it was launched if a note says so: "graph", "eager", "wall clock"; else "block scales".
    std::string variant;

    /// The sizes as text: "M=1, N=32, K=64".
    [[nodiscard]] std::string shape() const;
};

struct KernelTable {
    std::vector<MeasuredKernel> rows;
    std::vector<SkippedRow> skipped;
};

/// Returns true if the columns are those of one of the tables below.
[[nodiscard]] bool is_kernel_table(const std::vector<std::string>& columns);

/// Reads the rows after the header. All have `accelerator` or `system`, a time (`time_s`, `time_ms`, `time_us`) and may
/// have `source`, `lib`, `note` or `notes`.
/// - Matmuls: `m`, `n`, `k`, `dtype_in`, `dtype_out`: out[m,n] = x[m,k] w[k,n]. `dtype_in` is any dtype, or a format:
///   `int8_wo` and `int4_wo` quantise only weights, with activations in dtype_out. `fp8`, `fp8_block`, `nvfp4`, `mxfp4`
///   and `int8_smoothquant` first quantise activations that come in dtype_out; `fp8_e4m3` does not, and no format does
///   in rows of libraries that are timed alone (takes_narrow_operands()). With `groups` one matmul per group, of m rows
///   each, or of m in all where a note says `ragged`.
/// - Elementwise operations: `op` (softmax, layernorm, rmsnorm, gelu, silu, relu, exp, add, mul, copy, amax,
///   fp8_quant_static, fp8_compute_scale ...), `shape` ("4096x64", "262144"), `dtype` ("bf16", "bf16->fp8");
///   linear_softmax_xent and linear_softmax_xent_backward of the shape "m=1024,n=4096,k=512".
/// - Attention: `phase` (prefill, prefill_noncausal, decode, mla_decode, backward, backward_noncausal), `batch`,
///   `q_len`, `kv_len`, `heads`, `kv_heads`, `head_dim`, `dtype`, optionally `kv_dtype` and `window` (0: none).
///   Prefill and backward are causal.
/// - Layers of experts on one rank: `tokens`, `hidden`, `inter`, `topk`, `experts`, `moe_tp`, `moe_ep`, `dtype`,
///   optionally `routing` (expert_load.hpp) and `gated`. T tokens; E experts that any token chose, with C rows each on
///   average. Rows of a tuner have no `moe_tp` and `moe_ep` (tuned_experts.hpp).
/// A row that is incomplete, or that the notation cannot express, is skipped with the reason. Errors, with line and
/// column: a missing column; a value that is not a positive number.
[[nodiscard]] Result<KernelTable> read_kernel_table(CsvReader& reader);

}  // namespace roofline::core
