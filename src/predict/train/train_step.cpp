#include "predict/train/train_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/portable_math.hpp"
#include "calibrate/constants.hpp"
#include "plan/pipeline.hpp"
#include "plan/pipeline_stage.hpp"
#include "predict/expect.hpp"
#include "predict/expected_basis.hpp"
#include "predict/predict.hpp"
#include "predict/train/expected_step.hpp"
#include "predict/train/framework.hpp"
#include "predict/train/planned_stage.hpp"

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

struct LaidStage {
    PlannedStage planned;
    Prediction answer;
};

Result<LaidStage> laid_stage(const Program& forward, const Model& model, const TrainSetup& setup,
                             const PipelineStage& stage, const Slice& slice, const StepPricing& pricing) {
    ROOFLINE_TRY(auto planned, planned_stage(forward, model, setup, stage));
    CollectiveOptions collectives;
    collectives.textbook = pricing.textbook;
    PredictOptions options = as_planned(model.name, pricing.software, planned.stay);
    options.routing = TokenRouting::least;
    options.expect = pricing.explained ? Expect::all : Expect::times;
    ROOFLINE_TRY(auto system, plan_system(slice, planned.step.program, collectives));
    ROOFLINE_TRY(auto answer, predict(planned.step.program, std::move(system), options, pricing.calibrations));
    return LaidStage{std::move(planned), std::move(answer)};
}

Result<TrainingMemory> stage_memory(const LaidStage& laid, const TrainSetup& setup, const PipelineStage& stage,
                                    const InFlight& in_flight) {
    const FrameworkHabits habits = framework_memory(setup);
    const Prediction& answer = laid.answer;
    ROOFLINE_TRY(auto memory, training_memory(laid.planned.step, *answer.local, answer.types, answer.system, in_flight,
                                              habits, laid.planned.stay));
    if (habits.pipeline_buffers) {
        ROOFLINE_TRY(const auto buffers,
                     pipeline_buffer_bytes(*answer.local, stage.place == StagePlace::first,
                                           static_cast<double>(setup.batch.microbatches), in_flight.layers));
        memory.working += buffers;
    }
    return memory;
}

Result<PricedStage> stage_step(const Program& forward, const Model& model, const TrainSetup& setup,
                               const PipelineStage& stage, const InFlight& in_flight, const Slice& slice,
                               const StepPricing& pricing) {
    ROOFLINE_TRY(auto laid, laid_stage(forward, model, setup, stage, slice, pricing));
    PricedStage priced;
    if (setup.held.any()) {
        const TrainSetup held = as_held(setup);
        ROOFLINE_TRY(const auto other, laid_stage(forward, model, held, stage, slice, pricing));
        ROOFLINE_TRY(priced.memory, stage_memory(other, held, stage, in_flight));
    } else {
        ROOFLINE_TRY(priced.memory, stage_memory(laid, setup, stage, in_flight));
    }
    priced.stage = stage;
    priced.answer = std::move(laid.answer);
    priced.notes = std::move(laid.planned.notes);
    priced.parts = step_parts(priced.answer, setup.overlapped);
    if (priced.parts) {
        priced.parts->pytorch = setup.pytorch_kernels;
        priced.parts->compiled = setup.compiled;
        priced.parts->in_turn = setup.gradients_in_turn;
        priced.parts->experts = priced.parts->experts || limits_experts(model, setup);
    }
    return priced;
}

// Seconds of one transfer between stages. The tensors that pass from layer to layer are transferred forward, and their
// gradients backward.
Result<double> send_seconds(const Prediction& first) {
    for (const Value& value : first.local->values) {
        if (!value.carried || value.intermediate) continue;
        const auto bytes = bytes_of(first.local->local_dims, value).evaluate(first.local->sizes);
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

// The error of a compiled step with collectives that have no measurements, such as those over the network between
// slices. In 27 of the 28 measured steps on several slices they take at most about a tenth of the time, and the error
// of the model includes theirs. No measurement supports what they take beyond that.
double unmeasured_error(const StepParts& parts, const StepModel& model, double step_s) {
    constexpr double measured_share = 0.1;
    if (!parts.compiled || !(step_s > 0)) return 0;
    const double wires_s = (parts.overlappable_wire_s + parts.exchanged_wire_s) / model.compiled.wires;
    return unvalidated_error * std::max(0.0, std::min(wires_s / step_s, 1.0) - measured_share);
}

// Computes the expected time if all stages have parts.
void expect_step(const PipelineTimes& pipeline, const StepModel& step_model, StepTimes& times) {
    std::vector<StageWork> stages;
    for (const PricedStage& each : pipeline.stages) {
        if (!each.parts || rests_on_link_rates(*each.parts, each.answer.machine)) return;
        stages.push_back({each.stage.count, *each.parts});
    }
    ExpectedStep expected = expected_of_stages(stages, pipeline.schedule.fill, pipeline.sends, step_model);
    times.parts = expected.parts;
    times.expected = std::max(expected.seconds, times.lower);
    double beyond = unmeasured_error(*times.parts, step_model, *times.expected);
    for (const PricedStage& each : pipeline.stages) {
        const Machine& machine = each.answer.machine;
        // the error of steps that were measured there has that of kernels transferred to the machine in it
        if (times.parts->compiled && has(step_model.compiled.machines, machine.id)) continue;
        const bool tested = steps_were_measured(machine, times.parts->compiled);
        beyond = std::max({beyond, additional_error(each.answer), tested ? 0 : unvalidated_error});
    }
    times.expected_error = hypotenuse(class_of(step_model, *times.parts).error, beyond);
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

Result<std::vector<PricedStage>> stage_steps(const Model& model, const TrainSetup& setup, const Pipeline& pipeline,
                                             const Slice& slice, const StepPricing& pricing) {
    const Program forward = forward_pass_of(model, setup);
    ROOFLINE_TRY(const auto kinds, stages_of(forward, setup));
    std::vector<PricedStage> stages;
    for (const PipelineStage& kind : kinds) {
        ROOFLINE_TRY(auto step, stage_step(forward, model, setup, kind, in_flight_of(pipeline, kind), slice, pricing));
        stages.push_back(std::move(step));
    }
    return stages;
}

}  // namespace

Result<TrainStep> train_step(const Model& model, const TrainSetup& setup, const Slice& slice,
                             const StepPricing& pricing, std::vector<std::string>& notes) {
    ROOFLINE_TRY(auto pipeline, pipeline_of(model, setup));
    if (pipeline.schedule == Schedule::zero_bubble && pipeline.stages > 1) {
        ROOFLINE_TRY(pipeline.recomputed, recomputed_share(model, setup, slice.machine));
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
