#include "predict/serve/serve.hpp"

#include <utility>

#include "api/data.hpp"
#include "api/words.hpp"
#include "report/serve/serve_figures.hpp"
#include "report/serve/serve_words.hpp"

namespace roofline {

namespace {

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
    if (setup.plan) {
        core::Plan plan;
        plan.data = setup.plan->data;
        plan.tensor = setup.plan->tensor;
        plan.expert = setup.plan->expert;
        plan.pipeline = setup.plan->pipeline;
        plan.experts_over_tensor = setup.plan->experts_over_tensor;
        ROOFLINE_CHECK(core::check_plan(plan, question.slice.chips()));
        question.plan = plan;
    }
    question.prompt = setup.prompt;
    question.output = setup.output;
    question.batch = setup.batch;
    question.chunk = setup.prefill_chunk;
    if (setup.speculation) {
        core::DraftQuestion draft{setup.speculation->draft_tokens, setup.speculation->acceptance};
        if (const auto& drafter = setup.speculation->draft_model) draft.model = drafter->data().config;
        question.draft = std::move(draft);
    }
    question.software = setup.software;
    question.textbook = setup.textbook;
    if (setup.disaggregated) question.disaggregated.emplace();
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

ServingPrediction public_serving(core::ServeAnswer answer) {
    ServingPrediction prediction;
    const core::ServingMemory& memory = answer.chip_memory;
    prediction.memory = {Bytes{memory.weights}, Bytes{memory.kv}, Bytes{memory.activations}, Bytes{memory.total()}};
    if (answer.capacity) {
        prediction.capacity = Bytes{*answer.capacity};
        prediction.max_batch = answer.max_batch;
    }
    prediction.fits = answer.fits;
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
