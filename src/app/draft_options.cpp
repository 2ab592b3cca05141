#include "app/draft_options.hpp"

#include <fmt/format.h>

#include <utility>

#include "app/model_option.hpp"
#include "app/number_option.hpp"

namespace roofline::core {

namespace {

Result<double> acceptance_option(const std::string& word) {
    if (word.empty()) {
        return fail("bad_request", "--draft needs --acceptance: the probability that a drafted token is accepted",
                    "measure it, or try 0.85 for one token by DeepSeek-V3's own layer (its report says 0.85 to 0.9)");
    }
    const auto acceptance = fraction_in(word);
    if (acceptance && acceptance->value >= 0 && acceptance->value <= 1) return acceptance->value;
    return wrong_option("--acceptance", word, "the probability must be 0 to 1", "give for example 0.8 or 80%");
}

}  // namespace

Result<std::optional<DraftQuestion>> draft_options(const ServeRequest& request) {
    if (request.draft.empty()) {
        if (request.acceptance.empty() && !request.draft_model) return std::optional<DraftQuestion>{};
        return fail("bad_request",
                    fmt::format("{} is given without --draft", request.draft_model ? "--draft-model" : "--acceptance"),
                    "say how many tokens are drafted for each step, for example --draft 3");
    }
    DraftQuestion draft;
    ROOFLINE_TRY(draft.tokens, whole_option("--draft", request.draft, max_draft_tokens));
    ROOFLINE_TRY(draft.acceptance, acceptance_option(request.acceptance));
    if (request.draft_model) {
        ROOFLINE_TRY(draft.model, resolve_config(*request.draft_model));
    }
    return std::optional(std::move(draft));
}

}  // namespace roofline::core
