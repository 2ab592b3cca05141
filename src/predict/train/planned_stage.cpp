#include "predict/train/planned_stage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bound/analysis.hpp"
#include "model/routed_experts.hpp"
#include "plan/apply_plan.hpp"
#include "program/limited_experts.hpp"
#include "program/stored_attention.hpp"
#include "program/weight_arithmetic.hpp"

namespace roofline::core {

namespace {

// Returns the names to keep that exist in a stage. Names that exist in no stage remain, so that they are rejected.
std::vector<std::string> names_in_stage(const Program& stage, const Program& whole,
                                        const std::vector<std::string>& kept) {
    const auto has_value = [](const Program& program, const std::string& name) {
        return std::any_of(program.values.begin(), program.values.end(),
                           [&](const Value& value) { return value.name == name; });
    };
    std::vector<std::string> there;
    for (const std::string& name : kept) {
        if (has_value(stage, name) || !has_value(whole, name)) there.push_back(name);
    }
    return there;
}

// The loss follows the last layers. The first stage needs no gradients of its inputs.
Result<TrainingProgram> stage_program(const Program& forward, const TrainSetup& setup, const PipelineStage& stage) {
    TrainingOptions options = setup.options;
    options.microbatches = setup.batch.microbatches;
    if (setup.plan.pipeline == 1) {
        auto with = with_loss(forward, options.f32_logits);
        return with ? training_step(*with, options) : fail(with.error());
    }
    auto part = pipeline_stage(forward, setup.plan.pipeline, stage);
    if (part && stage.place == StagePlace::last) part = with_loss(*part, options.f32_logits);
    if (!part) return fail(part.error());
    options.kept = names_in_stage(*part, forward, options.kept);
    options.input_gradients = stage.place != StagePlace::first;
    return training_step(*part, options);
}

}  // namespace

Program forward_pass_of(const Model& model, const TrainSetup& setup) {
    Program forward = model.program;
    forward.sizes["B"] = setup.batch.sequences();
    if (setup.stored_attention) store_attention(forward, setup.attention_dropout);
    bind_groups_of_experts(forward);
    if (setup.capacity > 0) limit_experts(forward, setup.capacity);
    return forward;
}

bool limits_experts(const Model& model, const TrainSetup& setup) {
    return setup.capacity > 0 && !routed_experts(model.program).empty();
}

Result<PlannedStage> planned_stage(const Program& forward, const Model& model, const TrainSetup& setup,
                                   const PipelineStage& stage) {
    PlannedStage planned;
    ROOFLINE_TRY(planned.step, stage_program(forward, setup, stage));
    if (setup.products) compute_weights_in(planned.step, *setup.products);
    if (setup.dispatch) dispatch_in(planned.step, *setup.dispatch);
    ROOFLINE_TRY(auto sharded, apply_plan(planned.step, model.roles, setup.plan));
    planned.step.program = std::move(sharded.program);
    planned.stay = std::move(sharded.stay);
    planned.notes = std::move(sharded.notes);
    return planned;
}

Result<std::vector<PipelineStage>> stages_of(const Program& forward, const TrainSetup& setup) {
    if (setup.plan.pipeline == 1) return std::vector<PipelineStage>(1);
    return pipeline_stages(forward, setup.plan.pipeline, setup.late_layers);
}

InFlight in_flight_of(const Pipeline& pipeline, const PipelineStage& stage) {
    const double layers = held_microbatches(pipeline, stage.index);
    // the last stage starts the backward pass immediately, unless all micro-batches go forward first
    const bool at_once = stage.place == StagePlace::last && pipeline.schedule != Schedule::gpipe;
    return {layers, at_once ? std::min(layers, 1.0) : layers};
}

Status check_schedule(const Model& model, Schedule schedule) {
    if (schedule != Schedule::zero_bubble || !model.lora) return {};
    return fail("bad_plan", "zero-bubble fills idle time with gradients of weights, which LoRA does not compute",
                "use the schedule 1f1b or interleaved");
}

Result<Pipeline> pipeline_of(const Model& model, const TrainSetup& setup) {
    Pipeline pipeline = setup.schedule;
    ROOFLINE_CHECK(check_schedule(model, pipeline.schedule));
    pipeline.stages = setup.plan.pipeline;
    pipeline.microbatches = setup.batch.microbatches;
    const std::int64_t layers = model.layer_count;
    const std::int64_t most = (layers + 2) / pipeline.stages;  // the embedding and the head may be chunks of their own
    if (pipeline.chunks > 1 && most >= 1 && pipeline.chunks > most) {
        return fail("bad_plan",
                    fmt::format("a stage has {} chunks of layers, but {} layers on {} stages allow at most {}",
                                pipeline.chunks, layers, pipeline.stages, most),
                    most > 1 ? fmt::format("at most interleaved:{}", most) : std::string("use the schedule 1f1b"));
    }
    return pipeline;
}

Result<double> recomputed_share(const Model& model, const TrainSetup& setup, const Machine& machine) {
    TrainingOptions options = setup.options;
    if (options.remat == Remat::none) return 0.0;
    Program forward = model.program;
    forward.sizes["B"] = setup.batch.sequences();
    bind_groups_of_experts(forward);
    ROOFLINE_TRY(const auto with, with_loss(forward, options.f32_logits));
    AnalysisOptions quick;
    quick.kernels = quick.growth = false;
    const auto math = [&](const TrainingOptions& each) -> Result<double> {
        ROOFLINE_TRY(const auto step, training_step(with, each));
        ROOFLINE_TRY(const auto analysis, analyse(step.program, machine, quick));
        return analysis.total.seconds_of("math").value_or(0);
    };
    ROOFLINE_TRY(const auto again, math(options));
    options.remat = Remat::none;
    options.kept = {};
    ROOFLINE_TRY(const auto once, math(options));
    constexpr double passes = 3;  // forward, gradients of the inputs, gradients of the weights
    return once > 0 ? std::clamp((again / once - 1) * passes, 0.0, 1.0) : 0.0;
}

ExpectedStep expected_of_stages(std::span<const StageWork> stages, double fill, double sends_s,
                                const StepModel& step_model) {
    const auto waited_for = [](StepParts parts, double times) {
        parts.overlappable_s = parts.overlappable_wire_s = 0;
        parts *= times;
        return parts;
    };
    StepParts all;
    for (const StageWork& each : stages) all += waited_for(each.parts, each.count);
    ExpectedStep longest;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        StepParts parts = all;
        parts += waited_for(stages[i].parts, -1);
        parts *= fill;
        parts += stages[i].parts;
        parts.exchanged_wire_s += sends_s;
        const double seconds = seconds_of(step_model, parts);
        if (i == 0 || seconds > longest.seconds) longest = {seconds, parts};
    }
    return longest;
}

}  // namespace roofline::core
