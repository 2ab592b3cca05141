#include "predict/train/train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/account.hpp"
#include "model/machine_dtype.hpp"
#include "plan/training_peak.hpp"
#include "predict/train/framework.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

std::vector<std::string> used_axes(const std::vector<std::string>& axes, const Plan& plan) {
    std::vector<std::string> used;
    for (const auto& [axis, degree] : plan_axes(plan)) {
        if (degree > 1 && has(axes, axis)) used.emplace_back(axis);
    }
    return used;
}

// Adds what the framework's own figures would say of memory. An allocator at the capacity returns free blocks.
void add_reported(TrainAnswer& answer, const StepModel& step_model) {
    if (!answer.step || !answer.framework || answer.framework->habits.memory.empty()) return;
    const TrainingMemory& memory = answer.step->memory;
    const TrainerHabits& habits = answer.framework->habits;
    double bytes = reported_bytes(memory, habits.memory, habits, step_model.reserved);
    if (memory.fits() && memory.capacity) bytes = std::min(bytes, *memory.capacity);
    answer.reported_bytes = bytes;
}

// Predicts the step. With an assumed utilization and without a given plan, a step that cannot be predicted is not an
// error: a note gives the reason.
Status predict_step(TrainAnswer& answer, const TrainQuestion& question,
                    const std::shared_ptr<Calibrations>& calibrations) {
    const TrainSetup& setup = question.setup;
    const Plan& plan = setup.plan;
    const BatchShards shards{plan.data * plan.fsdp * plan.expert, plan.sequence * plan.context};
    ROOFLINE_TRY(const auto step_model, built_in_step_model());
    const StepPricing pricing{calibrations, question.software, question.textbook, question.explained, step_model};
    auto step = check_batch(setup.batch, shards).and_then([&]() -> Result<TrainStep> {
        return train_step(answer.model, setup, answer.slice, pricing, answer.notes);
    });
    if (step) {
        const std::vector<std::string> notes = notes_of(step->program);
        answer.notes.insert(answer.notes.end(), notes.begin(), notes.end());
        const std::int64_t tokens = setup.batch.tokens / setup.batch.microbatches;
        const double each = static_cast<double>(tokens) / static_cast<double>(answer.slice.chips()) *
                            static_cast<double>(plan.pipeline);
        answer.thresholds =
            training_thresholds(step->program.program, step->program.analysis.total, step->program.system, plan, each);
        answer.step = std::move(*step);
        add_reported(answer, step_model);
        if (!answer.step->stage.empty()) {
            answer.notes.push_back(fmt::format("the slowest stage is shown, {}, with {} of {} layers",
                                               answer.step->stage, answer.step->passes, answer.model.layer_count));
        }
        return {};
    }
    if (!question.mfu || question.plan_given) return fail(step.error());
    answer.notes.push_back(
        fmt::format("step and memory are not predicted: {}; {}", step.error().message, step.error().hint));
    return {};
}

void add_rates(TrainAnswer& answer) {
    const TrainingDemand& demand = answer.demand;
    const auto tokens = answer.batch ? static_cast<double>(answer.batch->tokens) : 1;
    double seconds = 0;
    if (answer.assumed_mfu) {
        seconds = demand.seconds(tokens, *answer.assumed_mfu);
        answer.mfu = answer.assumed_mfu;
    } else {
        const StepTimes& times = answer.step->times;
        seconds = times.expected.value_or(times.lower);
        answer.mfu = demand.utilization(tokens, seconds);
        if (!times.expected && (!answer.step->memory.capacity || answer.step->memory.fits())) {
            answer.notes.push_back(
                fmt::format("MFU, tokens per second and cost are those of the lower bound, which no run can beat, "
                            "because no calibration covers this step on {}",
                            answer.slice.machine.name));
        }
    }
    const bool fits = answer.assumed_mfu || !answer.step->memory.capacity || answer.step->memory.fits();
    if (!fits) answer.mfu.reset();
    if (answer.batch) answer.step_s = seconds;
    if (fits) answer.tokens_per_s = tokens / seconds;
}

}  // namespace

Result<Model> training_model(const Config& config, std::optional<std::int64_t> sequence) {
    auto model = build_model(config, sequence);
    if (model && !sequence && model->sequence > training_sequence) model = build_model(config, training_sequence);
    return model;
}

Result<TrainAnswer> predict_training(TrainQuestion question, const std::shared_ptr<Calibrations>& calibrations) {
    if (!question.batch_given && !question.mfu) {
        return fail("no_batch", "neither a batch size nor a utilization is given",
                    "give the tokens per step, or assume a utilization");
    }
    const TrainSetup& setup = question.setup;
    TrainAnswer answer;
    answer.notes = question.notes;
    answer.slice = std::move(question.slice);
    answer.model = std::move(question.model);
    use_sixteen_bits_of(answer.slice.machine, answer.model);
    answer.sequence_given = question.sequence_given;
    answer.plan = setup.plan;
    if (answer.plan.pipeline > answer.model.layer_count) {
        return fail(
            "bad_plan",
            fmt::format("pipeline={}, but the model has {} layers", answer.plan.pipeline, answer.model.layer_count),
            "each stage needs at least one layer");
    }
    ROOFLINE_TRY(answer.counts, count_model(answer.model));
    ROOFLINE_TRY(answer.demand, training_demand(answer.counts, answer.slice.machine, answer.slice.chips()));
    ROOFLINE_TRY(const auto peak, training_peak(answer.slice.machine, setup.products));
    answer.demand.peak = peak.rate;
    if (answer.plan.pipeline > 1) answer.schedule = schedule_text(setup.schedule);
    if (question.batch_given) answer.batch = setup.batch;
    answer.options = setup.options;
    answer.products = setup.products;
    answer.dispatch = setup.dispatch;
    answer.overlapped = used_axes(setup.overlapped, setup.plan);
    answer.held = setup.held;
    answer.framework = std::move(question.framework);
    answer.assumed_mfu = question.mfu;
    if (answer.batch) {
        ROOFLINE_CHECK(predict_step(answer, question, calibrations));
    }
    add_rates(answer);
    if (answer.step) {
        if (auto note = allocator_note(answer.framework, answer.step->memory)) answer.notes.push_back(std::move(*note));
    }
    if (question.tokens && answer.tokens_per_s) {
        answer.cost = training_cost(answer.demand, *question.tokens, *answer.tokens_per_s, answer.slice.machine.price);
    }
    ROOFLINE_CHECK(add_goodput(answer, question.recovery));
    return answer;
}

}  // namespace roofline::core
