#include "predict/serve/serve_frontier.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "predict/expected_basis.hpp"
#include "predict/serve/serving_step.hpp"

namespace roofline::core {

namespace {

std::vector<std::int64_t> frontier_batches(const ServeAnswer& answer) {
    std::vector<std::int64_t> batches{answer.batch};
    if (answer.max_batch > 0) batches.push_back(answer.max_batch);
    const std::int64_t last = std::max(answer.max_batch, answer.batch);
    for (std::int64_t batch = prompts_at_once(answer.plan) * answer.plan.pipeline; batch < last; batch *= 2) {
        batches.push_back(batch);
    }
    std::sort(batches.begin(), batches.end());
    batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
    return batches;
}

// The fastest split of the caches with which a batch fits, or the fastest one if none does.
Result<SplitPass> fitting_split(const ServeAnswer& answer, const FrontierSlice& slice, const ServingSetup& setup,
                                std::int64_t batch) {
    ROOFLINE_TRY(auto splits, priced_splits(setup, answer.plan, mean_pass(answer, setup, answer.plan, batch)));
    for (SplitPass& split : splits) {
        if (!answer.capacity || splits.size() == 1) break;
        ROOFLINE_TRY(const auto memory,
                     memory_of(setup, answer.plan, split.caches, last_pass(answer, batch, slice.block),
                               slice.prefill_activations, split.pass));
        if (memory.total() <= *answer.capacity) return std::move(split);
    }
    return std::move(splits.front());
}

Result<ServePoint> frontier_point(const ServeAnswer& answer, const FrontierSlice& slice, std::int64_t batch) {
    const ServingSetup& setup = slice.setup;
    ROOFLINE_TRY(auto found, batch == answer.batch ? Result<SplitPass>(SplitPass{answer.caches, answer.decode})
                                                   : fitting_split(answer, slice, setup, batch));
    const Prediction& decode = found.pass;
    const ServingPass pass = mean_pass(answer, setup, answer.plan, batch);
    ROOFLINE_TRY(auto draft, draft_pass(setup, answer.plan, found.caches, pass));
    ROOFLINE_TRY(const auto least, least_of(setup, answer.plan, found.caches, pass, decode));
    ServePoint point;
    point.batch = batch;
    point.lower_s = least.lower_s;
    point.uniform_lower_s = decode.analysis.total.bounds.lower;
    if (draft) {
        const auto drafts = static_cast<double>(setup.speculation->tokens);
        ROOFLINE_TRY(const auto least_draft, least_of(drafting(setup), drafting_plan(setup, answer.plan), found.caches,
                                                      decode_pass(pass.batch, pass.context), *draft));
        point.lower_s += drafts * least_draft.lower_s;
        point.uniform_lower_s += drafts * draft->analysis.total.bounds.lower;
    }
    const double tokens = tokens_per_step(answer);
    point.lower_s /= tokens;
    point.uniform_lower_s /= tokens;
    point.tpot_s = step_seconds(setup, decode, draft) / tokens;
    point.tokens_per_s = static_cast<double>(batch) / point.tpot_s;
    point.bound_by = bound_label(decode);
    if (setup.speculation != nullptr) {
        ServingSetup plain = setup;
        plain.speculation = nullptr;
        ROOFLINE_TRY(const auto alone, fitting_split(answer, slice, plain, batch));
        point.tpot_without_s = pass_seconds(alone.pass);
    }
    return point;
}

}  // namespace

Status add_frontier(ServeAnswer& answer, const FrontierSlice& slice) {
    double best = 0;
    for (const std::int64_t batch : frontier_batches(answer)) {
        ROOFLINE_TRY(auto point, frontier_point(answer, slice, batch));
        if (point.tokens_per_s / point.tpot_s > best) {
            best = point.tokens_per_s / point.tpot_s;
            answer.knee = answer.frontier.size();
        }
        answer.frontier.push_back(std::move(point));
    }
    return {};
}

}  // namespace roofline::core
