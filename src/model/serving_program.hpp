// The forward program of a model in serving: prefill processes whole prompts, and a decode iteration generates the next
// token of each sequence, or verifies several that were drafted.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "model/expert_routing.hpp"
#include "model/model.hpp"
#include "model/weights.hpp"
#include "program/program.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// The experts that a pass reads: the number that its tokens are expected to choose (likely_experts()), the same if
/// experts were alike and had no replicas, those of one token, or all.
enum class ExpertsRead : std::uint8_t { likely, if_alike, fewest, all };

/// What a pass is for: to process prompts, or to generate tokens.
enum class ServingPhase : std::uint8_t { prefill, decode };

/// One forward pass. A prefill whose `queries` equal `context` processes whole prompts; if they are fewer, the last
/// tokens of them (a chunk), which attend to all of the context. A decode pass processes the last token of each
/// sequence and, with more queries than one, tokens that were drafted to follow it.
struct ServingPass {
    std::int64_t batch = 1;    ///< number of sequences
    std::int64_t queries = 1;  ///< tokens per sequence that the pass processes
    /// Tokens per sequence that the queries attend to, themselves included. In a decode pass that is the context of its
    /// first query; the others, which see a few more, are counted with as many.
    std::int64_t context = 1;
    ServingPhase phase = ServingPhase::prefill;
    ExpertsRead experts = ExpertsRead::likely;
};

/// Returns a decode pass of so many sequences.
[[nodiscard]] inline ServingPass decode_pass(std::int64_t sequences, std::int64_t context, std::int64_t queries = 1) {
    return {sequences, queries, context, ServingPhase::decode};
}

/// The dtypes in which parameters and caches are stored.
struct ServingDtypes {
    std::vector<StoredParam> params;  ///< by value of the model's program; others do not change
    Dtype kv = Dtype::bf16;           ///< of keys and values, not of the states of recurrences
};

/// Transforms the program of `model`, or the same program with subscripts, to that of one pass:
/// - B, T, S, windows and the tokens of an expert are bound to the pass.
/// - Of a prefill only the logits of the last token are computed, from which the next token is sampled.
/// - Parameters and caches get the dtypes in which they are stored. A matmul with weights in a float of 8 bits or less
/// runs in
///   that dtype, as kernels that quantise activations do; integers only reduce storage.
/// - The queries of a decode pass need no mask, and with a window they read only the window.
/// - States of recurrences and last inputs of convolutions are written, and read unless the pass begins the prompt.
/// - The experts that are read become a separate dimension, `Eread` of `E`, their replicas included; routes are
///   distributed evenly among them.
/// Errors: a prefill with more queries than context, a pass without any; nothing to compute logits from.
[[nodiscard]] Result<Program> serving_program(Program program, const Model& model, const ServingPass& pass,
                                              const ServingDtypes& dtypes, const ExpertRouting& routing = {});

}  // namespace roofline::core
