// A question about speculative decoding.
#pragma once

#include <cstdint>
#include <optional>

#include "model/config.hpp"

namespace roofline::core {

/// The most tokens that may be drafted for a step.
inline constexpr std::int64_t max_draft_tokens = 16;

/// What drafts tokens.
enum class DraftSource : std::uint8_t {
    layer,  ///< the model's own layer that predicts further tokens (multi-token prediction)
    model,  ///< another, smaller model
    lookup  ///< the text so far (n-grams), which takes no pass of any model
};

/// Tokens are drafted, and the model verifies them all in one pass.
struct DraftQuestion {
    std::int64_t tokens = 1;        ///< drafted for each step of a sequence
    double acceptance = 0;          ///< probability that a drafted token is accepted, given that all before it were
    std::optional<Config> model{};  ///< drafts; empty: the model's own layer, or without one a lookup
};

}  // namespace roofline::core
