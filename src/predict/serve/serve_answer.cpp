#include "predict/serve/serve_answer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "units/quantity.hpp"
#include "units/text.hpp"

namespace roofline::core {

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

double decode_tokens_per_s(const ServeAnswer& answer) {
    return static_cast<double>(answer.batch) / pass_seconds(answer.decode);
}

double prompt_seconds(const ServeAnswer& answer) {
    return pass_seconds(answer.prefill) / static_cast<double>(prompts_at_once(answer.plan) * answer.plan.pipeline);
}

double prefill_ratio(const ServeAnswer& answer) {
    const double decoding = pass_seconds(answer.decode) * static_cast<double>(answer.output);
    return prompt_seconds(answer) * static_cast<double>(answer.batch) / decoding;
}

double served_tokens_per_s(const ServeAnswer& answer) {
    const double alone = decode_tokens_per_s(answer);
    return answer.disaggregated ? alone : alone / (1 + prefill_ratio(answer));
}

double serving_chips(const ServeAnswer& answer) {
    const auto chips = static_cast<double>(answer.slice.chips());
    return answer.disaggregated ? chips * (1 + prefill_ratio(answer)) : chips;
}

std::optional<double> usd_per_million(const ServeAnswer& answer, double chips, double tokens_per_s) {
    const auto& price = answer.slice.machine.price;
    if (!price || !(tokens_per_s > 0)) return std::nullopt;
    constexpr double million = 1e6;
    return price->value * chips / tokens_per_s * million;
}

std::string bound_label(const Prediction& pass) {
    const Resource* resource = pass.analysis.total.bound_resource();
    return resource == nullptr ? "" : resource->label;
}

}  // namespace roofline::core
