// Tables of timed kernels: matrix products, elementwise operations, attention. Every row becomes a program in the notation.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "import/table_fields.hpp"

namespace roofline::core {

/// One row.
struct MeasuredKernel {
    int line = 0;           ///< of the table
    std::string source;     ///< who published it, as the table says
    std::string system;     ///< as the table names it: "h100_sxm"
    std::string operation;  ///< "matmul", "attention_prefill", "attention_decode", "softmax" ...
    std::string dtype;      ///< as the table says: "bf16", "fp8_block"
    std::string program;    ///< in the notation, without sizes
    std::vector<std::pair<std::string, std::int64_t>>
        sizes;  ///< of all its dimensions, in the same order for the same program
    double time_s = 0;
    double rounding_s = 0;  ///< by which the table's clock may have put the time off
    std::string software;   ///< library and version in lower case, "vllm 0.14.0"; "" where not said
    std::string
        variant;  ///< how it was launched, where a note says so: "graph", "eager", "wall clock"; else "block scales"

    /// "M=1, N=32, K=64"
    [[nodiscard]] std::string shape() const;
};

struct KernelTable {
    std::vector<MeasuredKernel> rows;
    std::vector<SkippedRow> skipped;
};

/// True when the columns are those of one of the tables below.
[[nodiscard]] bool is_kernel_table(const std::vector<std::string>& columns);

/// Reads the rows behind the header. All have `accelerator` or `system`, a time (`time_s`, `time_ms`, `time_us`) and may have
/// `source`, `lib`, `note` or `notes`.
/// - Products: `m`, `n`, `k`, `dtype_in`, `dtype_out`: out[m,n] = x[m,k] w[k,n]. As dtype_in any dtype; `int8_wo` and `int4_wo` are
///   weights alone, beside activations in dtype_out. `fp8`, `fp8_block`, `nvfp4`, `mxfp4` and `int8_smoothquant` first quantise
///   activations that come in dtype_out; `fp8_e4m3` does not.
/// - Elementwise: `op` (softmax, layernorm, rmsnorm, gelu, silu, relu, exp, add, mul, amax, fp8_quant_static, fp8_compute_scale ...), `shape` ("4096x64", "262144"),
///   `dtype` ("bf16", "bf16->fp8").
/// - Attention: `phase` (prefill, decode, mla_decode), `batch`, `q_len`, `kv_len`, `heads`, `kv_heads`, `head_dim`,
///   `dtype`, and may have `kv_dtype` and `window` (0: none). A prefill is causal.
/// - Layers of experts on one rank: `tokens`, `hidden`, `inter`, `topk`, `experts`, `moe_tp`, `moe_ep`, `dtype`; `routing`
///   (expert_load.hpp) and `gated` may be there. T tokens; E experts that any of them chose, with C rows each on average.
/// A row that lacks something, or that the notation cannot say, is skipped, with the reason. Errors, with line and column: a column
/// missing; what is no number, or not above zero.
[[nodiscard]] Result<KernelTable> read_kernel_table(CsvReader& reader);

}  // namespace roofline::core
