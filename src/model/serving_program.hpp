// The forward program of a model in serving: prefill processes whole prompts, and a decode iteration generates one
// token per sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "model/model.hpp"
#include "model/weights.hpp"
#include "program/program.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// The experts that a pass reads: the number that its tokens are expected to choose (likely_experts()), or all.
enum class ExpertsRead : std::uint8_t { likely, all };

/// One forward pass. If `queries` equals `context`, it processes whole prompts; if it is smaller, their last tokens (a
/// chunk), which attend to all of the context; if it is 1, the last token of each sequence.
struct ServingPass {
    std::int64_t batch = 1;    ///< number of sequences
    std::int64_t queries = 1;  ///< tokens per sequence that the pass processes
    std::int64_t context = 1;  ///< tokens per sequence that they attend to, themselves included
    ExpertsRead experts = ExpertsRead::likely;
};

/// The dtypes in which parameters and caches are stored.
struct ServingDtypes {
    std::vector<StoredParam> params;  ///< by value of the model's program; others do not change
    Dtype kv = Dtype::bf16;           ///< of keys and values, not of the states of recurrences
};

/// Transforms the program of `model`, or the same program with subscripts, to that of one pass:
/// - B, T, S, windows and the tokens of an expert are bound to the pass.
/// - Only the logits of the last token are computed, from which the next token is sampled.
/// - Parameters and caches get the dtypes in which they are stored. A matmul with weights in a float of 8 bits or less
/// runs in
///   that dtype, as kernels that quantise activations do; integers only reduce storage.
/// - A single query needs no mask, and with a window it reads only the window.
/// - The experts that are read become a separate dimension, `Eread` of `E`; routes are distributed evenly among them.
/// Errors: more queries than context, or none; nothing to compute logits from.
[[nodiscard]] Result<Program> serving_program(Program program, const Model& model, const ServingPass& pass,
                                              const ServingDtypes& dtypes);

}  // namespace roofline::core
