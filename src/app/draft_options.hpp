// The options of `roofline serve` that describe speculative decoding.
#pragma once

#include <optional>

#include "app/request.hpp"
#include "base/result.hpp"
#include "predict/serve/draft_question.hpp"

namespace roofline::core {

/// Returns what drafts tokens; empty without --draft. Errors name the option: no acceptance, or one that is no
/// probability; a number of tokens below 1 or above max_draft_tokens; one of the other options without --draft; an
/// unknown model.
[[nodiscard]] Result<std::optional<DraftQuestion>> draft_options(const ServeRequest& request);

}  // namespace roofline::core
