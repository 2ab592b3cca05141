// Speculative decoding of a served model: what drafts tokens, and how many a step yields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "predict/serve/draft_question.hpp"
#include "predict/serve/served_model.hpp"

namespace roofline::core {

/// Returns the mean number of tokens that a step yields with `drafts` drafted tokens, each of which is accepted with
/// probability `acceptance` if all before it were: (1 - a^(n+1)) / (1 - a), and n + 1 if all are accepted (Leviathan,
/// Kalman and Matias, "Fast Inference from Transformers via Speculative Decoding", 2023, equation 1).
[[nodiscard]] double tokens_of_step(std::int64_t drafts, double acceptance);

/// A model that drafts tokens one after another.
struct Drafter {
    ServedModel prefill;
    ServedModel decode;
};

/// How a served model's tokens are drafted.
struct Speculation {
    std::int64_t tokens = 1;  ///< drafted for each step of a sequence
    double acceptance = 0;
    DraftSource source = DraftSource::lookup;
    std::string name{};                ///< of the drafter's model; "": of a lookup
    std::optional<Drafter> drafter{};  ///< empty: of a lookup

    [[nodiscard]] double tokens_per_step() const { return tokens_of_step(tokens, acceptance); }
};

/// The model whose tokens are drafted, as its passes of one kind have it.
struct DraftedModel {
    const ServedModel& prefill;
    const ServedModel& decode;
    std::optional<Dtype> weights;  ///< of all parameters; empty: as stored
    const std::optional<Quantisation>& quantisation;
    Dtype kv = Dtype::bf16;
    std::int64_t context = 0;  ///< tokens of a request
};

/// Builds what drafts. A layer of the model is stored and its experts are chosen as those of the model, and it shares
/// its embedding and head; another model is stored as its own checkpoint, and its experts are alike; both have the KV
/// cache's dtype. Errors: a number of tokens or an acceptance out of range; requests longer than the context of the
/// other model; those of build_model(), weight_bytes() and draft_layer().
[[nodiscard]] Result<Speculation> speculation_of(const DraftQuestion& question, const DraftedModel& drafted);

}  // namespace roofline::core
