#include "predict/serve_plan/serving_deployments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "predict/serve_plan/serving_value.hpp"

namespace roofline::core {

Status carry_rate(const ServingSearch& search, const ServeQuestion& job,
                  const std::shared_ptr<Calibrations>& calibrations, ServingSearchAnswer& answered) {
    const ServingSetUp& set_up = answered.best.set_up;
    const auto least = static_cast<std::int64_t>(std::ceil(search.rate / answered.best.rates.requests_per_s));
    const std::int64_t most = least + std::max<std::int64_t>(2, least / 2);
    answered.replicas = 0;
    std::optional<Error> error;
    bool carried = false;
    for (std::int64_t count = least; count <= most && !carried; ++count) {
        ServeQuestion question = question_of(job, set_up);
        question.load_only = true;
        question.load->rate = rate_of_each(search, count);
        const auto answer = predict_serving(std::move(question), calibrations);
        if (!answer) {
            if (!error) error = answer.error();
            continue;
        }
        const ServingTimes& times = answer->load->times;
        const ServingRates rates{times.ttft, times.tpot, times.tokens_per_s, times.requests_per_s};
        answered.replicas = count;
        answered.rate_of_each = rate_of_each(search, count);
        carried = meets(search, rates);
        if (!carried) continue;
        answered.best.rates = rates;
        answered.best.usd_per_million = load_usd_per_million(*answer, rates.tokens_per_s);
    }
    if (answered.replicas < 1 && error) return fail(*error);
    const std::int64_t chips = answered.replicas * set_up.chips();
    if (!carried) {
        answered.notes.emplace_back("the targets are missed if requests arrive at random");
    } else if (chips > search.job.slice.chips()) {
        answered.notes.push_back(
            fmt::format("the rate needs {} chips, more than the {} that are given", chips, search.job.slice.chips()));
    }
    answered.meets = answered.meets && carried && chips <= search.job.slice.chips();
    return {};
}

std::int64_t deployments_of(const ServingSearch& search, const ServingSetUp& set_up) {
    const std::int64_t own = search.prefill ? set_up.slice.chips() * set_up.workers : set_up.chips();
    std::int64_t count = search.job.slice.chips() / own;
    if (search.prefill && set_up.prefill) {
        const PrefillServers& prefill = *set_up.prefill;
        count = std::min(count, search.prefill->slice.chips() / (prefill.slice.chips() * prefill.workers));
    }
    return std::max<std::int64_t>(1, count);
}

}  // namespace roofline::core
