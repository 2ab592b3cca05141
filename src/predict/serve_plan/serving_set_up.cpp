#include "predict/serve_plan/serving_set_up.hpp"

#include <algorithm>
#include <utility>

namespace roofline::core {

double figure_of(const TimeSpread& times, TimeStatistic statistic) {
    switch (statistic) {
        case TimeStatistic::mean:
            return times.mean;
        case TimeStatistic::p50:
            return times.p50;
        case TimeStatistic::p90:
            return times.p90;
        case TimeStatistic::p99:
            return times.p99;
    }
    return times.mean;
}

std::int64_t ServingSetUp::chips() const {
    return slice.chips() * workers + (prefill ? prefill->slice.chips() * prefill->workers : 0);
}

bool ServingSetUp::same_servers(const ServingSetUp& other) const {
    if (form != other.form || slice.chips() != other.slice.chips() || plan != other.plan) return false;
    if (workers != other.workers || prefill.has_value() != other.prefill.has_value()) return false;
    return !prefill || (prefill->plan == other.prefill->plan && prefill->workers == other.prefill->workers &&
                        prefill->slice.chips() == other.prefill->slice.chips());
}

double ServingPlan::tokens_per_s_per_chip() const { return rates.tokens_per_s / static_cast<double>(set_up.chips()); }

ServeQuestion question_of(const ServeQuestion& job, const ServingSetUp& set_up) {
    ServeQuestion question = job;
    question.slice = set_up.slice;
    question.plan = set_up.plan;
    question.weights = set_up.form.weights;
    question.kv_dtype = set_up.form.kv_dtype;
    question.chunk = set_up.form.chunk;
    question.batch = set_up.batch;
    question.disaggregated.reset();
    if (set_up.prefill) {
        const PrefillServers& prefill = *set_up.prefill;
        DisaggregatedQuestion& pools = question.disaggregated.emplace();
        pools.prefill = prefill.slice;
        pools.machine = prefill.machine;
        pools.plan = prefill.plan;
        pools.prefill_slices = prefill.workers;
        pools.decode_slices = set_up.workers;
        if (job.disaggregated) pools.by_layer = job.disaggregated->by_layer;
    }
    if (question.load) {
        question.load->rate = 0;
        question.load->concurrency = std::min(set_up.concurrency(), max_requests);
    }
    return question;
}

namespace {

TimeSpread always(double seconds) { return {seconds, seconds, seconds, seconds}; }

// Without calibration: the passes one after another, and pools at the rate of the slower one.
ServingRates rates_without_load(const ServeAnswer& answer, const ServingSetUp& set_up) {
    ServingRates rates;
    rates.ttft = always(first_token_seconds(answer));
    const auto workers = static_cast<double>(set_up.workers);
    rates.tokens_per_s = served_tokens_per_s(answer) * workers;
    rates.tpot = always(static_cast<double>(answer.batch) * workers / rates.tokens_per_s);
    rates.requests_per_s = rates.tokens_per_s / static_cast<double>(answer.output);
    if (set_up.prefill) {
        const double prompts = static_cast<double>(set_up.prefill->workers) / prompt_seconds(answer);
        rates.requests_per_s = std::min(rates.requests_per_s, prompts);
        rates.tokens_per_s = rates.requests_per_s * static_cast<double>(answer.output);
    }
    return rates;
}

}  // namespace

tl::unexpected<Error> interrupted_search() { return fail("interrupted", "the search for servers was interrupted"); }

Result<ServingPlan> priced_set_up(const ServeQuestion& job, const ServingSetUp& set_up,
                                  const std::shared_ptr<Calibrations>& calibrations) {
    if (job.stop && job.stop()) return interrupted_search();
    ServeQuestion question = question_of(job, set_up);
    question.load_only = true;
    if (question.load) question.load->targets = {};
    ROOFLINE_TRY(const auto answer, predict_serving(std::move(question), calibrations));
    ServingPlan plan;
    plan.set_up = set_up;
    plan.fits = holds_model(answer) && (!answer.served || answer.served->max_batch >= set_up.batch) &&
                (!answer.capacity || answer.max_batch >= set_up.batch);
    plan.memory_bytes = answer.chip_memory.total();
    if (answer.load) {
        const ServingTimes& times = answer.load->times;
        plan.rates = {times.ttft, times.tpot, times.tokens_per_s, times.requests_per_s};
    } else {
        plan.rates = rates_without_load(answer, set_up);
    }
    plan.usd_per_million = load_usd_per_million(answer, plan.rates.tokens_per_s);
    return plan;
}

}  // namespace roofline::core
