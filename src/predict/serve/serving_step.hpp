// The decode steps of an answer about serving: the passes, and the drafts before them.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.hpp"
#include "predict/serve/serve_answer.hpp"
#include "predict/serve/serving_slices.hpp"

namespace roofline::core {

/// Returns the decode pass of a step at the answer's average context, of those sequences of a batch that go through it
/// together.
[[nodiscard]] ServingPass mean_pass(const ServeAnswer& answer, const ServingSetup& setup, const Plan& plan,
                                    std::int64_t batch);

/// Returns the pass of a whole batch whose caches have all tokens of its requests, in blocks of so many tokens; 0: as
/// many tokens as there are, so that memory is what a model needs with any server.
[[nodiscard]] ServingPass last_pass(const ServeAnswer& answer, std::int64_t batch, std::int64_t block);

/// Returns the pass that drafts a token for each sequence of a decode pass; empty if no model drafts. Errors: those of
/// priced_pass(), with the name of the drafter.
[[nodiscard]] Result<std::optional<Prediction>> draft_pass(const ServingSetup& setup, const Plan& plan,
                                                           CacheSplit caches, const ServingPass& decode);

/// Returns the time of a step in seconds: its drafts, and the decode pass that verifies them.
[[nodiscard]] double step_seconds(const ServingSetup& setup, const Prediction& decode,
                                  const std::optional<Prediction>& draft);

}  // namespace roofline::core
