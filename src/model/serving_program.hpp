// The forward program of a model as serving runs it: prefill takes whole prompts in, a decode step makes one more token of each
// sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "model/model.hpp"
#include "model/weights.hpp"
#include "program/program.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// Which of the experts a pass reads: as many as its tokens are likely to choose (likely_experts()), or all.
enum class ExpertsRead : std::uint8_t { likely, all };

/// One pass through the model. With `queries` equal to `context` whole prompts go in, with fewer the last tokens of them (a chunk),
/// which look back on all; with 1 the last token of each sequence does.
struct ServingPass {
    std::int64_t batch = 1;    ///< sequences
    std::int64_t queries = 1;  ///< tokens of each that go in
    std::int64_t context = 1;  ///< tokens of each that they look back on, themselves included
    ExpertsRead experts = ExpertsRead::likely;
};

/// What is kept in which dtype.
struct ServingDtypes {
    std::vector<StoredParam> params;  ///< by value of the model's program; others are left as they are
    Dtype kv = Dtype::bf16;           ///< of keys and values, not of the states of recurrences
};

/// The program of `model`, or the same with subscripts, made that of one pass:
/// - B, T, S, windows and the tokens of an expert are bound to the pass.
/// - Of the logits only those of the last token are made, which is the one that the next token is drawn from.
/// - Parameters and caches have the dtypes in which they are kept. A product with weights in a float of 8 bits or less is done in
///   that dtype, as kernels that quantise activations on their way do; integers only store.
/// - One query masks nothing, and behind a window looks back on the window alone.
/// - The experts that are read are a dimension of their own, `Eread` of `E`; routes are shared out evenly among them.
/// Errors: more queries than context, or none; nothing to make logits of.
[[nodiscard]] Result<Program> serving_program(Program program, const Model& model, const ServingPass& pass,
                                              const ServingDtypes& dtypes);

}  // namespace roofline::core
