#include "predict/serve/speculation.hpp"

#include <fmt/format.h>

#include <utility>

#include "model/draft_layer.hpp"
#include "model/routed_experts.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

Result<ServedModel> layer_of(const ServedModel& served, const DraftedModel& drafted) {
    ROOFLINE_TRY(auto model, draft_layer(served.model));
    ROOFLINE_TRY(auto layer, served_model(std::move(model), drafted.weights, drafted.quantisation, drafted.kv));
    if (!routed_experts(layer.model.program).empty()) layer.routing = served.routing;
    // the model's own embedding and head are there already
    for (ValueId id = 0; id < layer.model.program.values.size(); ++id) {
        const std::string& part = layer.model.program.values[id].part;
        if (part == "embedding" || part == "head") layer.stored.params[id].bytes = Rational(0);
    }
    return layer;
}

}  // namespace

double tokens_of_step(std::int64_t drafts, double acceptance) {
    // the sum of the geometric series, which has no singularity where all are accepted
    double tokens = 1;
    for (std::int64_t i = 0; i < drafts; ++i) tokens = 1 + acceptance * tokens;
    return tokens;
}

Result<Speculation> speculation_of(const DraftQuestion& question, const DraftedModel& drafted) {
    if (question.tokens < 1 || question.tokens > max_draft_tokens) {
        return fail("bad_request", fmt::format("{} tokens cannot be drafted for a step", question.tokens),
                    fmt::format("give 1 to {}", max_draft_tokens));
    }
    if (!(question.acceptance >= 0 && question.acceptance <= 1)) {
        return fail(
            "bad_request",
            fmt::format("a drafted token cannot be accepted with probability {}", number_text(question.acceptance)),
            "give 0 to 1");
    }
    Speculation speculation{question.tokens, question.acceptance};
    if (question.model) {
        Drafter drafter;
        ROOFLINE_TRY(auto quantisation, quantisation_of(*question.model, nullptr));
        ROOFLINE_TRY(drafter.prefill, served_model(*question.model, false, {}, quantisation, drafted.kv));
        ROOFLINE_TRY(drafter.decode, served_model(*question.model, true, {}, quantisation, drafted.kv));
        const Model& model = drafter.decode.model;
        if (model.context > 0 && drafted.context > model.context) {
            return fail("bad_request",
                        fmt::format("requests of {} tokens are longer than the context of {} of the draft model {}",
                                    drafted.context, model.context, model.name),
                        "shorten the prompt or the output, or draft with another model");
        }
        speculation.source = DraftSource::model;
        speculation.name = model.name;
        speculation.drafter = std::move(drafter);
    } else if (drafted.decode.model.further_layers > 0) {
        Drafter drafter;
        ROOFLINE_TRY(drafter.prefill, layer_of(drafted.prefill, drafted));
        ROOFLINE_TRY(drafter.decode, layer_of(drafted.decode, drafted));
        speculation.source = DraftSource::layer;
        speculation.name = drafter.decode.model.name;
        speculation.drafter = std::move(drafter);
    }
    return speculation;
}

}  // namespace roofline::core
