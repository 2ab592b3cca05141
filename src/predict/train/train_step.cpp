#include "predict/train/train_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "plan/apply_plan.hpp"
#include "plan/pipeline.hpp"
#include "plan/pipeline_stage.hpp"
#include "predict/expect.hpp"
#include "predict/expected_basis.hpp"
#include "predict/predict.hpp"
#include "predict/train/expected_step.hpp"
#include "program/stored_attention.hpp"
#include "program/weight_arithmetic.hpp"

namespace roofline::core {

namespace {

// One stage of a pipeline, or the whole model, laid out and priced.
struct PricedStage {
    PipelineStage stage;
    Prediction answer;
    TrainingMemory memory;
    std::vector<std::string> notes;
    std::optional<StepParts> parts{};
};

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

Result<PricedStage> stage_step(const Program& forward, const Model& model, const TrainSetup& setup,
                               const PipelineStage& stage, const InFlight& held, const Slice& slice,
                               const StepPricing& pricing) {
    ROOFLINE_TRY(auto step, stage_program(forward, setup, stage));
    if (setup.products) compute_weights_in(step, *setup.products);
    if (setup.dispatch) dispatch_in(step, *setup.dispatch);
    ROOFLINE_TRY(auto planned, apply_plan(step, model.roles, setup.plan));
    step.program = std::move(planned.program);
    CollectiveOptions collectives;
    collectives.textbook = pricing.textbook;
    PredictOptions options = as_planned(model.name, pricing.software, planned.stay);
    options.routing = TokenRouting::least;
    options.expect = pricing.explained ? Expect::all : Expect::times;
    ROOFLINE_TRY(auto system, plan_system(slice, step.program, collectives));
    ROOFLINE_TRY(auto answer, predict(step.program, std::move(system), options, pricing.calibrations));
    FrameworkHabits habits = setup.habits;
    habits.unfused = setup.options.unfused;
    habits.stored_casts = setup.options.stored_casts;
    ROOFLINE_TRY(auto memory,
                 training_memory(step, answer.local, answer.types, answer.system, held, habits, planned.stay));
    if (habits.pipeline_buffers && setup.plan.pipeline > 1) {
        ROOFLINE_TRY(const auto buffers,
                     pipeline_buffer_bytes(answer.local, stage.place == StagePlace::first,
                                           static_cast<double>(setup.batch.microbatches), held.layers));
        memory.working += buffers;
    }
    PricedStage priced{stage, std::move(answer), memory, std::move(planned.notes)};
    priced.parts = step_parts(priced.answer, setup.overlapped);
    if (priced.parts) {
        priced.parts->pytorch = setup.pytorch_kernels;
        priced.parts->in_turn = setup.gradients_in_turn;
    }
    return priced;
}

// Seconds of one transfer between stages. The tensors that pass from layer to layer are transferred forward, and their
// gradients backward.
Result<double> send_seconds(const Prediction& first) {
    for (const Value& value : first.local.values) {
        if (!value.carried || value.intermediate) continue;
        const auto bytes = bytes_of(first.local.local_dims, value).evaluate(first.local.sizes);
        if (!bytes) break;
        return stage_transfer_s(first.system, bytes->to_double());
    }
    return 0;
}

// The time of each stage and its idle time. The step takes as long as its slowest stage.
struct PipelineTimes {
    const std::vector<PricedStage>& stages;
    PipelineCost schedule;
    double sends = 0;

    struct SlowestStage {
        double seconds = 0;
        double waits = 0;
        std::size_t stage = 0;
    };

    // The slowest stage, where `work` gives the time of a stage and `waited` the part of it that other stages wait for.
    template <typename Work, typename Waited>
    [[nodiscard]] SlowestStage longest(const Work& work, const Waited& waited) const {
        double all = 0;
        for (const PricedStage& each : stages) all += each.stage.count * waited(each.answer);
        SlowestStage longest;
        for (std::size_t i = 0; i < stages.size(); ++i) {
            const double waits = schedule.fill * (all - waited(stages[i].answer));
            const double seconds = work(stages[i].answer) + waits;
            if (i == 0 || seconds > longest.seconds) longest = {seconds, waits, i};
        }
        return longest;
    }
};

// In the lower bound stages only wait for the matmuls of others, because the rest of the others' work may overlap.
StepTimes times_of(const PipelineTimes& pipeline, std::size_t& stage) {
    const auto lower = [](const Prediction& answer) { return answer.analysis.total.bounds.lower; };
    const auto math = [](const Prediction& answer) { return answer.analysis.total.seconds_of("math").value_or(0); };
    const auto sequential = [](const Prediction& answer) { return answer.analysis.total.sequential; };
    const auto upper = [](const Prediction& answer) { return answer.analysis.total.bounds.upper; };
    StepTimes times;
    const PipelineTimes::SlowestStage least = pipeline.longest(lower, math);
    stage = least.stage;
    times.lower = least.seconds;
    times.sequential = pipeline.longest(sequential, sequential).seconds + pipeline.sends;
    const PipelineTimes::SlowestStage most = pipeline.longest(upper, upper);
    times.upper = most.seconds + pipeline.sends;
    times.bubble = most.seconds > 0 ? most.waits / most.seconds : 0;
    return times;
}

// Computes the expected time if all stages have parts: that of the slowest stage including its idle time. No stage
// waits for collectives that overlap.
void expect_step(const PipelineTimes& pipeline, const StepModel& step_model, StepTimes& times) {
    StepParts waited_for;
    for (const PricedStage& each : pipeline.stages) {
        if (!each.parts) return;
        StepParts work = *each.parts;
        work.overlappable_s = work.overlappable_wire_s = 0;
        work *= each.stage.count;
        waited_for += work;
    }
    for (const PricedStage& each : pipeline.stages) {
        StepParts own = *each.parts;
        own.overlappable_s = own.overlappable_wire_s = 0;
        own *= -1;
        StepParts parts = waited_for;
        parts += own;
        parts *= pipeline.schedule.fill;
        parts += *each.parts;
        parts.exchanged_wire_s += pipeline.sends;
        const double seconds = seconds_of(step_model, parts);
        if (times.expected && *times.expected >= seconds) continue;
        times.expected = seconds;
        times.parts = parts;
    }
    if (!times.expected) return;
    times.expected = std::max(*times.expected, times.lower);
    double beyond = 0;
    for (const PricedStage& each : pipeline.stages) beyond = std::max(beyond, additional_error(each.answer));
    times.expected_error = std::hypot(class_of(step_model, *times.parts).error, beyond);
    times.step_model = step_model;
}

std::string stage_text(const PipelineStage& stage, std::int64_t stages) {
    switch (stage.place) {
        case StagePlace::first:
            return fmt::format("the first of {} stages", stages);
        case StagePlace::last:
            return fmt::format("the last of {} stages", stages);
        case StagePlace::middle:
            break;
    }
    return fmt::format("a middle one of {} stages", stages);
}

Result<Pipeline> pipeline_of(const Model& model, const TrainSetup& setup) {
    Pipeline pipeline = setup.schedule;
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

// Returns the fraction of a forward pass's matmul time that the backward pass recomputes, for all layers on one chip.
// It is the same for all stages because the idle time of a schedule assumes passes of equal length.
Result<double> recomputed_share(const Program& forward, const TrainSetup& setup, const Machine& machine) {
    TrainingOptions options = setup.options;
    if (options.remat == Remat::none) return 0.0;
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

Result<std::vector<PricedStage>> stage_steps(const Model& model, const TrainSetup& setup, const Pipeline& pipeline,
                                             const Slice& slice, const StepPricing& pricing) {
    Program forward = model.program;
    forward.sizes["B"] = setup.batch.sequences();
    if (setup.stored_attention) store_attention(forward, setup.attention_dropout);
    bind_groups_of_experts(forward);
    std::vector<PipelineStage> kinds(1);
    if (pipeline.stages > 1) {
        ROOFLINE_TRY(kinds, pipeline_stages(forward, pipeline.stages, setup.late_layers));
    }
    std::vector<PricedStage> stages;
    for (const PipelineStage& kind : kinds) {
        const double layers = held_microbatches(pipeline, kind.index);
        // the last stage starts the backward pass immediately, unless all micro-batches go forward first
        const bool at_once = kind.place == StagePlace::last && pipeline.schedule != Schedule::gpipe;
        const InFlight held{layers, at_once ? std::min(layers, 1.0) : layers};
        ROOFLINE_TRY(auto step, stage_step(forward, model, setup, kind, held, slice, pricing));
        stages.push_back(std::move(step));
    }
    return stages;
}

}  // namespace

Result<TrainStep> train_step(const Model& model, const TrainSetup& setup, const Slice& slice,
                             const StepPricing& pricing, std::vector<std::string>& notes) {
    ROOFLINE_TRY(auto pipeline, pipeline_of(model, setup));
    if (pipeline.schedule == Schedule::zero_bubble && pipeline.stages > 1) {
        Program forward = model.program;
        forward.sizes["B"] = setup.batch.sequences();
        bind_groups_of_experts(forward);
        ROOFLINE_TRY(pipeline.recomputed, recomputed_share(forward, setup, slice.machine));
    }
    ROOFLINE_TRY(auto schedule, pipeline_cost(pipeline));
    ROOFLINE_TRY(auto stages, stage_steps(model, setup, pipeline, slice, pricing));
    double sends = 0;
    if (pipeline.stages > 1) {
        ROOFLINE_TRY(const auto once, send_seconds(stages.front().answer));
        sends = once * static_cast<double>(schedule.transfers);
    }
    TrainStep step;
    std::size_t longest = 0;
    const PipelineTimes pipeline_times{stages, schedule, sends};
    step.times = times_of(pipeline_times, longest);
    expect_step(pipeline_times, pricing.step_model, step.times);
    const auto fullest = std::max_element(stages.begin(), stages.end(), [](const PricedStage& a, const PricedStage& b) {
        return a.memory.total() < b.memory.total();
    });
    step.memory = fullest->memory;
    PricedStage& shown = (stages)[longest];
    if (pipeline.stages > 1) {
        step.stage = stage_text(shown.stage, pipeline.stages);
        step.fullest = stage_text(fullest->stage, pipeline.stages);
        step.passes = shown.stage.passes;
    }
    notes.insert(notes.end(), shown.notes.begin(), shown.notes.end());
    step.program = std::move(shown.answer);
    return step;
}

}  // namespace roofline::core
