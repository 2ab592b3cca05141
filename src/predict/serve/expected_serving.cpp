#include "predict/serve/expected_serving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/routed_experts.hpp"

namespace roofline::core {

double two_batch_seconds(const HalfBatch& half, double layers) {
    const auto [shorter, longer] = std::minmax(half.kernels_s, half.collectives_s);
    return 2 * longer + shorter / layers;
}

Result<ExpectedServing> ExpectedServing::make(const PlannedSlice& prefilling, const PlannedSlice& decoding,
                                              const ServingPass& typical, const SplitPass* best) {
    std::optional<SplitPass> found;
    if (best == nullptr) {
        ROOFLINE_TRY(found, best_split(decoding.setup, decoding.plan, typical));
    }
    const SplitPass& split = best == nullptr ? *found : *best;
    ROOFLINE_TRY(auto passes, compile(prefilling, decoding, split.pass, typical.context));
    ExpectedServing expected(std::move(passes), decoding.setup.calibrations);
    const Speculation* const speculation = decoding.setup.speculation;
    if (speculation == nullptr) return expected;
    expected.tokens_per_step_ = speculation->tokens_per_step();
    if (!speculation->drafter) return expected;
    const ServingSetup decode_setup = drafting(decoding.setup);
    const Plan decode_plan = drafting_plan(decoding.setup, decoding.plan);
    const ServingSetup prefill_setup = drafting(prefilling.setup);
    const Plan prefill_plan = drafting_plan(prefilling.setup, prefilling.plan);
    ROOFLINE_TRY(auto draft,
                 priced_pass(decode_setup, decode_plan, split.caches, decode_pass(typical.batch, typical.context)));
    ROOFLINE_TRY(expected.drafter_,
                 compile({prefill_setup, prefill_plan}, {decode_setup, decode_plan}, draft, typical.context));
    expected.drafts_ = static_cast<double>(speculation->tokens);
    expected.launches_ += expected.drafter_->launches;
    return expected;
}

Result<ExpectedServing::Passes> ExpectedServing::compile(const PlannedSlice& prefilling, const PlannedSlice& decoding,
                                                         const Prediction& decode, std::int64_t context) {
    ROOFLINE_TRY(auto decoded, compile(fastest(decode), decoding, ServingPhase::decode));
    ROOFLINE_TRY(auto pass, priced_pass(prefilling.setup, prefilling.plan, CacheSplit::heads,
                                        prefill_pass(prefilling.plan, context)));
    const Prediction& laid = fastest(pass);
    ROOFLINE_TRY(auto prefilled, compile(laid, prefilling, ServingPhase::prefill));
    if (decoding.setup.in_last_stage) decoded.sends = prefilled.sends = StageSends{};
    Passes passes{std::move(decoded), std::move(prefilled)};
    for (const CompiledKernel::Runs& kernel : laid.runs) passes.launches += kernel.count;
    for (const MessageWork& each : laid.analysis.total.work.messages) {
        const auto count = each.count.evaluate(laid.program.sizes);
        if (count) passes.launches += count->to_double();
    }
    return passes;
}

Result<ExpectedServing::Pass> ExpectedServing::compile(const Prediction& pass, const PlannedSlice& slice,
                                                       ServingPhase phase) {
    const bool decoding = phase == ServingPhase::decode;
    const ServedModel& served = decoding ? slice.setup.decode : slice.setup.prefill;
    const Model& model = served.model;
    const Plan& plan = slice.plan;
    if (!pass.expected_s) {
        return fail("not_calibrated",
                    fmt::format("no calibration for {} on {}", pass.models.missing, pass.machine.name));
    }
    std::vector<std::string> dims{"B", "S"};
    if (phase == ServingPhase::prefill) dims.emplace_back("T");
    std::vector<double> windows;
    for (const auto& [window, size] : model.windows) {
        dims.push_back(window);
        windows.push_back(static_cast<double>(size));
    }
    // Of each dispatch, the program of the pass names the experts that are read, and that of the model all of them.
    const std::vector<SharedExperts> all = shared_experts(model.program, plan);
    const std::vector<RoutedExperts> read = routed_experts(pass.program);
    std::vector<PlacedExperts> routed;
    for (std::size_t i = 0; i < std::min(all.size(), read.size()); ++i) {
        if (has(dims, read[i].experts)) continue;
        dims.push_back(read[i].experts);
        dims.push_back(read[i].rows);
        routed.emplace_back(served.routing, all[i]);
    }
    Pass compiled{CompiledExpected(pass.program, pass.analysis, pass.system, pass.models, dims),
                  dims,
                  windows,
                  std::move(routed),
                  slice.setup.balancedness,
                  slice.setup.two_batches,
                  static_cast<double>(std::max<std::int64_t>(1, model.layer_count)),
                  decoding ? static_cast<double>(pass.program.sizes.at("T")) : 0,
                  static_cast<double>(plan.pipeline),
                  static_cast<double>(prompts_at_once(plan))};
    if (plan.pipeline > 1) {
        ROOFLINE_TRY(auto sends, sends_of(pass, plan.pipeline));
        compiled.sends = sends;
    }
    return compiled;
}

double ExpectedServing::tokens_of(const Pass& pass, double sequences, double context) {
    return sequences * (pass.queries > 0 ? pass.queries : context);
}

ExpectedProgramTime ExpectedServing::time_of(const Pass& pass, double sequences, double context) {
    const bool decoding = pass.queries > 0;
    const double tokens = tokens_of(pass, sequences, context);
    // experts get the tokens of all members, and the rest takes the time of a member that has a prompt
    std::vector<double> sizes{decoding ? sequences : std::max(sequences, pass.members), context};
    if (!decoding) sizes.push_back(context);
    for (const double window : pass.windows) sizes.push_back(std::min(context, window));
    for (const PlacedExperts& each : pass.routed) {
        const ExpertWork work = each.busiest_chip(tokens, pass.balancedness);
        sizes.push_back(work.read);
        sizes.push_back(work.rows);
    }
    std::vector<double> scratch(pass.expected.places());
    return pass.expected.evaluate(sizes, scratch);
}

StepKernels ExpectedServing::seconds(const Pass& pass, double batch, double context) {
    const double sequences = std::max(batch / pass.stages, 1.0);
    const double sends_s = pass.sends.seconds(tokens_of(pass, sequences, context));
    const ExpectedProgramTime whole = time_of(pass, sequences, context);
    if (!pass.two_batches) return {whole.seconds + sends_s, whole.bound_s};
    // A prompt is cut in two, whose kernels take half the time each; half the sequences read all the weights again.
    HalfBatch half{(whole.seconds - whole.collectives_s) / 2, whole.collectives_s / 2};
    if (pass.queries > 0) {
        const ExpectedProgramTime one = time_of(pass, std::max(sequences / 2, 1.0), context);
        half = {one.seconds - one.collectives_s, one.collectives_s};
    }
    return {std::min(whole.seconds, two_batch_seconds(half, pass.layers)) + sends_s, whole.bound_s};
}

StepKernels ExpectedServing::decode(double sequences, double context) const {
    const StepKernels verified = seconds(passes_.decode, sequences, context);
    if (!drafter_) return verified;
    const StepKernels drafted = seconds(drafter_->decode, sequences, context);
    return {verified.seconds + drafts_ * drafted.seconds, verified.bound_s + drafts_ * drafted.bound_s};
}

std::optional<double> ExpectedServing::balancedness(double sequences) const {
    const Pass& decode = passes_.decode;
    if (decode.routed.empty() || !(decode.routed.front().chips() > 1)) return std::nullopt;
    if (decode.balancedness > 0) return decode.balancedness;
    return decode.routed.front().balancedness(tokens_of(decode, std::max(sequences / decode.stages, 1.0), 1));
}

double ExpectedServing::prompts_s(double prompts, double tokens) const {
    const double model = seconds(passes_.prefill, prompts, tokens).seconds;
    return drafter_ ? model + seconds(drafter_->prefill, prompts, tokens).seconds : model;
}

}  // namespace roofline::core
