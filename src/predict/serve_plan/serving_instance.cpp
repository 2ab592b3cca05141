#include "predict/serve_plan/serving_instance.hpp"

#include <algorithm>
#include <utility>

#include "plan/serving_capacity.hpp"
#include "predict/serve/serving_costs.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t sampled_requests = 32;

}  // namespace

Result<ServingInstance> ServingInstance::make(const ServeQuestion& job, const ServingSetUp& set_up,
                                              const std::shared_ptr<Calibrations>& calibrations) {
    ServingInstance made;
    made.set_up_ = set_up;
    ServeQuestion question = question_of(job, set_up);
    ROOFLINE_TRY(made.serving_, loadable_serving(std::move(question), calibrations));
    const ServeAnswer& answer = made.serving_.answer;
    made.prompt_ = static_cast<double>(answer.prompt);
    made.output_ = static_cast<double>(answer.output);
    made.room_ = answer.capacity ? answer.max_batch : max_requests;
    if (answer.served) made.room_ = std::min(made.room_, answer.served->max_batch);
    made.room_ = std::min(made.room_, max_requests);
    made.requests_ =
        draw_requests(job.load ? job.load->lengths : typical_lengths({made.prompt_, made.output_}), sampled_requests);
    return made;
}

ServerPool ServingInstance::limited(std::int64_t batch) const {
    ServerPool pool = serving_.servers.pools.prompts;
    pool.limits.sequences = batch;
    return pool;
}

ServingEstimate ServingInstance::together(std::int64_t batch) const {
    const ServingPools pools{limited(batch)};
    ServingEstimate estimate;
    estimate.requests_per_s = saturation_rate(requests_, pools);
    estimate.ttft_s = prompt_s() + wait_s(batch - 1);
    const double cycle_s = static_cast<double>(batch) / estimate.requests_per_s;
    estimate.tpot_s = std::max(0.0, cycle_s - estimate.ttft_s) / std::max(1.0, output_ - 1);
    return estimate;
}

double ServingInstance::wait_s(std::int64_t others) const {
    if (others < 1) return 0;
    const ServingCosts& costs = serving_.servers.pools.prompts.costs;
    const auto sequences = static_cast<double>(others);
    const double iteration_s = costs.decode(sequences).seconds(sequences * (prompt_ + output_ / 2));
    // a wait ends where nothing is left to decode, which is so of every second one if there are two requests
    const double decoding = sequences / (sequences + 1);
    return decoding * static_cast<double>(costs.wait) * iteration_s;
}

ServingEstimate ServingInstance::decoding(std::int64_t batch) const {
    ServerPool pool = limited(batch);
    ServingPools pools{pool};
    pools.decode = std::move(pool);
    ServingEstimate estimate;
    estimate.requests_per_s = pool_rates(requests_, pools).decode;
    estimate.ttft_s = wait_s(batch - 1);
    estimate.tpot_s = static_cast<double>(batch) / estimate.requests_per_s / std::max(1.0, output_ - 1);
    return estimate;
}

double ServingInstance::prompts_per_s() const {
    ServerPool pool = limited(1);
    ServingPools pools{pool};
    pools.decode = std::move(pool);
    return pool_rates(requests_, pools).prompts;
}

double ServingInstance::prompt_s() const {
    const ServingCosts& costs = serving_.servers.pools.prompts.costs;
    return costs.lone_prompt_s ? costs.lone_prompt_s(prompt_) : costs.prompt_s(prompt_);
}

}  // namespace roofline::core
