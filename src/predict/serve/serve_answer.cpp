#include "predict/serve/serve_answer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "units/quantity.hpp"
#include "units/text.hpp"

namespace roofline::core {

bool holds_model(const ServeAnswer& answer) {
    return (!answer.capacity || answer.fits) && (!answer.prefill_pool || answer.prefill_pool->fits());
}

std::int64_t prompts_at_once(const Plan& plan) { return plan.data * plan.fsdp * plan.expert; }

std::int64_t sequences_at_once(const Plan& plan, std::int64_t batch) {
    return (batch + plan.pipeline - 1) / plan.pipeline;
}

double pass_seconds(const Prediction& pass) {
    return fastest(pass).expected_s.value_or(pass.analysis.total.sequential);
}

bool calibrated(const ServeAnswer& answer) {
    return answer.decode.expected_s.has_value() && answer.prefill.expected_s.has_value();
}

double SpeculatedServing::draft_s() const { return draft ? static_cast<double>(tokens) * pass_seconds(*draft) : 0; }

double tokens_per_step(const ServeAnswer& answer) {
    return answer.speculation ? answer.speculation->tokens_per_step : 1;
}

double step_seconds(const ServeAnswer& answer) {
    return pass_seconds(answer.decode) + (answer.speculation ? answer.speculation->draft_s() : 0);
}

double token_seconds(const ServeAnswer& answer) { return step_seconds(answer) / tokens_per_step(answer); }

double least_token_seconds(const ServeAnswer& answer) {
    if (!answer.speculation) return answer.least_decode.lower_s;
    const double drafts = static_cast<double>(answer.speculation->tokens) * answer.speculation->least_draft.lower_s;
    return (answer.least_decode.lower_s + drafts) / tokens_per_step(answer);
}

double prefill_seconds(const ServeAnswer& answer) {
    return pass_seconds(answer.prefill) + (answer.speculation ? answer.speculation->prefill_s : 0);
}

double decode_tokens_per_s(const ServeAnswer& answer) {
    return static_cast<double>(answer.batch) / token_seconds(answer);
}

double first_token_seconds(const ServeAnswer& answer) {
    const double prefill_s = prefill_seconds(answer);
    if (!answer.prefill_pool || !answer.prefill_pool->transfer) return prefill_s;
    return prefill_s + answer.prefill_pool->transfer->exposed_s(static_cast<double>(answer.prompt), prefill_s);
}

double prompt_seconds(const ServeAnswer& answer) {
    const Plan& plan = answer.prefill_pool ? answer.prefill_pool->plan : answer.plan;
    return prefill_seconds(answer) / static_cast<double>(prompts_at_once(plan) * plan.pipeline);
}

double prefill_ratio(const ServeAnswer& answer) {
    const double decoding = token_seconds(answer) * static_cast<double>(answer.output);
    return prompt_seconds(answer) * static_cast<double>(answer.batch) / decoding;
}

double served_tokens_per_s(const ServeAnswer& answer) {
    const double alone = decode_tokens_per_s(answer);
    return answer.prefill_pool ? alone : alone / (1 + prefill_ratio(answer));
}

namespace {

double chips_of(const Slice& slice) { return static_cast<double>(slice.chips()); }

}  // namespace

double serving_chips(const ServeAnswer& answer) {
    const double prefill = answer.prefill_pool ? chips_of(answer.prefill_pool->slice) * prefill_ratio(answer) : 0;
    return chips_of(answer.slice) + prefill;
}

double load_chips(const ServeAnswer& answer) {
    const auto& pool = answer.prefill_pool;
    if (!pool) return chips_of(answer.slice);
    return chips_of(answer.slice) * static_cast<double>(pool->decode_slices) +
           chips_of(pool->slice) * static_cast<double>(pool->slices);
}

std::optional<double> usd_per_million(const ServeAnswer& answer, double slices, double prefill_slices,
                                      double tokens_per_s) {
    double usd_per_s = 0;
    const auto add = [&](const Slice& slice, double count) {
        if (!slice.machine.price) return false;
        usd_per_s += slice.machine.price->value * chips_of(slice) * count;
        return true;
    };
    if (!add(answer.slice, slices)) return std::nullopt;
    if (answer.prefill_pool && prefill_slices > 0 && !add(answer.prefill_pool->slice, prefill_slices)) {
        return std::nullopt;
    }
    if (!(tokens_per_s > 0)) return std::nullopt;
    constexpr double million = 1e6;
    return usd_per_s / tokens_per_s * million;
}

std::optional<double> load_usd_per_million(const ServeAnswer& answer, double tokens_per_s) {
    const auto& pool = answer.prefill_pool;
    return usd_per_million(answer, pool ? static_cast<double>(pool->decode_slices) : 1,
                           pool ? static_cast<double>(pool->slices) : 0, tokens_per_s);
}

std::string bound_label(const Prediction& pass) {
    const Resource* resource = pass.analysis.total.bound_resource();
    return resource == nullptr ? "" : resource->label;
}

}  // namespace roofline::core
