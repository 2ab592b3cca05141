#include "predict/serve/serving_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "calibrate/server/server_memory.hpp"

namespace roofline::core {

ServingPass mean_pass(const ServeAnswer& answer, const ServingSetup& setup, const Plan& plan, std::int64_t batch) {
    return decode_pass(sequences_at_once(plan, batch), answer.context, step_queries(setup));
}

ServingPass last_pass(const ServeAnswer& answer, std::int64_t batch, std::int64_t block) {
    return decode_pass(batch, in_blocks(answer.prompt + answer.output, std::max<std::int64_t>(1, block)));
}

Result<std::optional<Prediction>> draft_pass(const ServingSetup& setup, const Plan& plan, CacheSplit caches,
                                             const ServingPass& decode) {
    if (setup.speculation == nullptr || !setup.speculation->drafter) return std::optional<Prediction>{};
    auto draft =
        priced_pass(drafting(setup), drafting_plan(setup, plan), caches, decode_pass(decode.batch, decode.context));
    if (draft) return std::optional(std::move(*draft));
    Error error = draft.error();
    error.message = fmt::format("{} as the drafter: {}", setup.speculation->name, error.message);
    return fail(std::move(error));
}

double step_seconds(const ServingSetup& setup, const Prediction& decode, const std::optional<Prediction>& draft) {
    const double drafts = draft ? static_cast<double>(setup.speculation->tokens) * pass_seconds(*draft) : 0;
    return pass_seconds(decode) + drafts;
}

}  // namespace roofline::core
