#include "predict/serve/serve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/data.hpp"
#include "api/words.hpp"
#include "predict/serve/serving_costs.hpp"
#include "report/serve/serve_figures.hpp"
#include "report/serve/serve_words.hpp"

namespace roofline {

namespace {

Result<std::optional<core::Plan>> plan_of(const std::optional<ServingPlan>& given, std::int64_t chips) {
    if (!given) return std::optional<core::Plan>{};
    core::Plan plan;
    plan.data = given->data;
    plan.tensor = given->tensor;
    plan.expert = given->expert;
    plan.pipeline = given->pipeline;
    plan.experts_over_tensor = given->experts_over_tensor;
    ROOFLINE_CHECK(core::check_plan(plan, chips));
    return std::optional(plan);
}

ServingPlan public_plan(const core::Plan& plan) {
    return {plan.data, plan.tensor, plan.expert, plan.pipeline, plan.experts_over_tensor};
}

tl::unexpected<core::Error> out_of_range(const char* what, const char* range) {
    return core::fail("bad_request", fmt::format("{} must be {}", what, range));
}

Result<core::DisaggregatedQuestion> pool_of(const PrefillPool& pool, const core::Slice& decode) {
    core::DisaggregatedQuestion question;
    if (pool.slice) {
        if (!pool.slice->data().mesh.empty()) {
            return core::fail("bad_request", "the plan determines the mesh of a slice that prefills",
                              "give the slice without with_mesh()");
        }
        question.prefill = pool.slice->data().slice;
    }
    ROOFLINE_TRY(question.plan, plan_of(pool.plan, question.prefill ? question.prefill->chips() : decode.chips()));
    if (pool.workers < 0 || pool.workers > core::max_servers) return out_of_range("workers", "0 to 1000");
    if (pool.decode_workers < 1 || pool.decode_workers > core::max_servers) {
        return out_of_range("decode_workers", "1 to 1000");
    }
    question.prefill_slices = pool.workers;
    question.decode_slices = pool.decode_workers;
    question.by_layer = pool.transfer_by_layer;
    return question;
}

Result<core::LoadQuestion> load_of(const ServingLoadSetup& setup, const ServingSetup& serving) {
    core::LoadQuestion load;
    load.lengths = core::typical_lengths({static_cast<double>(serving.prompt), static_cast<double>(serving.output)});
    for (const RequestLength& each : setup.lengths) {
        if (each.prompt < 1 || each.output < 1 || std::max(each.prompt, each.output) > core::max_serving_size) {
            return out_of_range("the tokens of a request", "1 to 2^24");
        }
        load.lengths.listed.push_back({each.prompt, each.output});
    }
    if (!(setup.cached >= 0 && setup.cached <= 1)) return out_of_range("cached", "0 to 1");
    load.lengths.cached.share = setup.cached;
    if (setup.rate && !(setup.rate->value > 0)) return out_of_range("rate", "positive");
    if (setup.concurrency < 1 || setup.concurrency > core::max_requests) {
        return out_of_range("concurrency", "1 to 100,000");
    }
    if (setup.requests < 0 || setup.requests > core::max_simulated_requests) {
        return out_of_range("requests", "0 to 1,000,000");
    }
    load.rate = setup.rate ? setup.rate->value : 0;
    load.concurrency = setup.concurrency;
    load.requests = setup.requests;
    if (setup.prefill_first) load.schedule = core::PromptSchedule::prefill_first;
    for (const auto& [given, target] :
         {std::pair(setup.ttft, &load.targets.ttft_s), std::pair(setup.tpot, &load.targets.tpot_s)}) {
        if (!given) continue;
        if (!(given->value > 0)) return out_of_range("a target", "positive");
        *target = given->value;
    }
    return load;
}

Result<core::ServeQuestion> serve_question_of(const Model& model, const System& system, const ServingSetup& setup) {
    if (!system.data().mesh.empty()) {
        return core::fail("bad_request", "the plan determines the mesh of a server, but the system already has a mesh",
                          "give the slice without with_mesh()");
    }
    core::ServeQuestion question;
    question.config = model.data().config;
    question.weights = setup.weights;
    question.kv_dtype = setup.kv_cache;
    question.slice = system.data().slice;
    ROOFLINE_TRY(question.plan, plan_of(setup.plan, question.slice.chips()));
    question.prompt = setup.prompt;
    question.output = setup.output;
    question.batch = setup.batch;
    question.chunk = setup.prefill_chunk;
    question.memory_fraction = setup.memory_fraction;
    question.block = setup.cache_block;
    if (setup.speculation) {
        core::DraftQuestion draft{setup.speculation->draft_tokens, setup.speculation->acceptance};
        if (const auto& drafter = setup.speculation->draft_model) draft.model = drafter->data().config;
        question.draft = std::move(draft);
    }
    question.software = setup.software;
    question.exchange = setup.exchange;
    question.textbook = setup.textbook;
    if (setup.prefill) {
        ROOFLINE_TRY(question.disaggregated, pool_of(*setup.prefill, question.slice));
    }
    if (setup.load) {
        ROOFLINE_TRY(question.load, load_of(*setup.load, setup));
    }
    if (!(setup.balancedness >= 0 && setup.balancedness <= 1)) return out_of_range("balancedness", "0 to 1");
    question.balancedness = setup.balancedness;
    question.routing = {setup.routing.zipf, setup.routing.measured, setup.redundant_experts};
    question.two_batches = setup.two_batch_overlap;
    return question;
}

ServingPassTimes pass_of(const core::Prediction& pass, const core::RoutingBound& least) {
    const core::Analysis& total = pass.analysis.total;
    return {Seconds{least.lower_s}, Seconds{total.sequential}, Seconds{total.bounds.upper},
            expected_of(core::fastest(pass).expected_s, core::fastest(pass).expected_error), least.bound_by};
}

std::optional<Usd> usd_of(std::optional<double> usd) { return usd ? std::optional(Usd{*usd}) : std::nullopt; }

std::vector<ServingPoint> points_of(const core::ServeAnswer& answer) {
    std::vector<ServingPoint> points;
    for (const core::ServePoint& point : answer.frontier) {
        points.push_back({point.batch, Seconds{point.lower_s}, Seconds{point.tpot_s}, Frequency{point.tokens_per_s},
                          usd_of(core::usd_per_million(answer, 1, 0, point.tokens_per_s))});
    }
    return points;
}

std::optional<SpeculationGain> speculation_of(const core::ServeAnswer& answer) {
    if (!answer.speculation) return std::nullopt;
    const core::SpeculatedServing& drafts = *answer.speculation;
    return SpeculationGain{
        drafts.tokens_per_step,         Seconds{core::pass_seconds(answer.decode)},          Seconds{drafts.draft_s()},
        Seconds{drafts.tpot_without_s}, drafts.tpot_without_s / core::token_seconds(answer), drafts.no_gain_from};
}

TimeSpread spread_of(const core::TimeSpread& spread) {
    return {Seconds{spread.mean}, Seconds{spread.p50}, Seconds{spread.p90}, Seconds{spread.p99}};
}

std::optional<SimulatedServing> simulated_of(const core::ServeAnswer& answer) {
    if (!answer.load) return std::nullopt;
    const core::SimulatedLoad& load = *answer.load;
    SimulatedServing simulated{load.requests,
                               spread_of(load.times.ttft),
                               spread_of(load.times.tpot),
                               spread_of(load.times.itl),
                               spread_of(load.times.latency),
                               Frequency{load.times.requests_per_s},
                               Frequency{load.times.tokens_per_s},
                               Frequency{load.saturation_per_s}};
    if (load.load.targets.any()) {
        simulated.goodput = Frequency{load.goodput_per_s()};
        simulated.largest = load.largest;
    }
    return simulated;
}

std::optional<PrefillPoolPrediction> pool_of(const core::ServeAnswer& answer) {
    if (!answer.prefill_pool) return std::nullopt;
    const core::PrefillPool& pool = *answer.prefill_pool;
    PrefillPoolPrediction prediction{core::prefill_ratio(answer), public_plan(pool.plan),
                                     Bytes{pool.chip_memory.total()}, pool.fits()};
    if (pool.transfer) {
        const auto prompt = static_cast<double>(answer.prompt);
        prediction.transferred = Bytes{pool.transfer->bytes.at(prompt)};
        prediction.transfer = Seconds{pool.transfer->seconds.at(prompt)};
        prediction.first_token = Seconds{pool.transfer->exposed_s(prompt, core::pass_seconds(answer.prefill))};
    }
    return prediction;
}

ServingPrediction public_serving(core::ServeAnswer answer) {
    ServingPrediction prediction;
    const core::ServingMemory& memory = answer.chip_memory;
    prediction.memory = {Bytes{memory.weights}, Bytes{memory.kv}, Bytes{memory.activations}, Bytes{memory.total()}};
    if (answer.capacity) {
        prediction.capacity = Bytes{*answer.capacity};
        prediction.max_batch = answer.max_batch;
    }
    prediction.fits = answer.fits;
    if (const auto& room = answer.served) {
        const core::MemoryRule& rule = room->rule;
        prediction.server_room = ServerRoom{
            rule.software, rule.fraction,  std::string(core::name(rule.of)), rule.block, Bytes{room->cache_bytes},
            room->tokens,  room->max_batch};
    }
    prediction.prefill = pass_of(answer.prefill, answer.least_prefill);
    prediction.decode = pass_of(answer.decode, answer.least_decode);
    prediction.time_to_first_token = Seconds{core::first_token_seconds(answer)};
    prediction.time_per_token = Seconds{core::token_seconds(answer)};
    prediction.tokens_per_second = Frequency{core::decode_tokens_per_s(answer)};
    const double served = core::served_tokens_per_s(answer);
    prediction.served_tokens_per_second = Frequency{served};
    prediction.usd_per_million = usd_of(core::usd_per_million(answer, 1, core::prefill_ratio(answer), served));
    prediction.frontier = points_of(answer);
    prediction.speculation = speculation_of(answer);
    prediction.prefill_pool = pool_of(answer);
    prediction.simulated = simulated_of(answer);
    if (const auto& load = answer.under_load) {
        prediction.under_load = ServingLoad{load->software, load->error, Seconds{load->ttft_s}, Seconds{load->tpot_s},
                                            Frequency{load->tokens_per_s}};
    }
    prediction.notes = core::in_library_terms(core::serve_notes(answer));
    prediction.data = std::make_shared<const ServingPrediction::Data>(ServingPrediction::Data{std::move(answer)});
    return prediction;
}

Result<ServingPrediction> served(const Model& model, const System& system, const ServingSetup& setup) {
    ROOFLINE_TRY(auto question, serve_question_of(model, system, setup));
    ROOFLINE_TRY(auto answer, core::predict_serving(std::move(question), calibrations_of(system, setup.calibrated)));
    return public_serving(std::move(answer));
}

}  // namespace

Result<ServingPrediction> predict_serving(const Model& model, const System& system, const ServingSetup& setup) {
    return core::in_library_terms(served(model, system, setup));
}

std::string ServingPrediction::to_json() const { return data ? core::serve_json(data->answer) : std::string(); }

}  // namespace roofline
