#include "app/train_step.hpp"

#include <memory>

#include "app/expected_op.hpp"
#include "app/priced_program.hpp"
#include "bound/network_pricing.hpp"
#include "layout/lay_out.hpp"
#include "plan/apply_plan.hpp"
#include "plan/pipeline.hpp"

namespace roofline {

namespace {

// More sequences, and as many more rows for each expert: both stand in the model's program as for one sequence.
void bind_sequences(Program& program, const DimRoles& roles, std::int64_t sequences) {
    constexpr std::int64_t most = std::int64_t{1} << 50;
    for (auto& [dim, size] : program.sizes) {
        const std::string letters = dim.substr(0, dim.find_last_not_of("0123456789") + 1);
        const auto role = roles.contains(dim) ? roles.find(dim) : roles.find(letters);
        if (role == roles.end() || role->second != "rows") continue;
        size = size > most / sequences ? most : size * sequences;
    }
    program.sizes["B"] = sequences;
}

// Forward, backward and optimizer of one microbatch's sequences, its subscripts those of the plan.
Result<TrainingProgram> planned_step(const Model& model, const TrainSetup& setup, StayingAxes& stay,
                                     std::vector<std::string>& notes) {
    Program forward = model.program;
    bind_sequences(forward, model.roles, setup.batch.sequences());
    auto with = with_loss(forward);
    if (!with) return fail(with.error());
    TrainingOptions options = setup.options;
    options.microbatches = setup.batch.microbatches;
    auto step = training_step(*with, options);
    if (!step) return step;
    auto planned = apply_plan(*step, model.roles, setup.plan);
    if (!planned) return fail(planned.error());
    notes.insert(notes.end(), planned->notes.begin(), planned->notes.end());
    step->program = std::move(planned->program);
    stay = std::move(planned->stay);
    return step;
}

double seconds_of(const Analysis& total, std::string_view resource) {
    for (std::size_t i = 0; total.seconds && i < total.pricing.resources.size(); ++i) {
        if (total.pricing.resources[i].id == resource) return (*total.seconds)[i];
    }
    return 0;
}

// What goes from layer to layer goes from stage to stage: forward, and its gradient back. Seconds of one of these.
double send_seconds(const OpAnswer& answer, std::int64_t stages) {
    for (const Value& value : answer.local.values) {
        if (!value.carried || value.intermediate) continue;
        Message message;
        message.kind = CollectiveKind::permute;
        message.axes = {"pipeline"};
        const auto bytes = (bytes_of(value) * Polynomial(stages)).evaluate(answer.local.sizes);
        const auto load = load_of(message, answer.system);
        if (!bytes || !load) return 0;
        const auto time = time_of(*load, answer.system, bytes->to_double());
        return time ? time->lower_s : 0;
    }
    return 0;
}

Result<PipelineCost> schedule_of(const TrainSetup& setup) {
    auto schedule = parse_schedule(setup.schedule.empty() ? "1f1b" : setup.schedule);
    if (!schedule) return fail(schedule.error());
    const std::int64_t chunks = *schedule == Schedule::interleaved ? 2 : 1;
    return pipeline_cost({*schedule, setup.plan.pipeline, setup.batch.microbatches, chunks});
}

// A stage does its share of each microbatch, and waits. The lower bound has products alone in what it waits for: the rest may overlap.
StepTimes times_of(const OpAnswer& answer, const PipelineCost& schedule, std::int64_t stages) {
    const Analysis& total = answer.analysis.total;
    const double share = 1 / static_cast<double>(stages);
    const double waits = schedule.bubble / (1 - schedule.bubble);  // for each second of work
    const double sends = stages > 1 ? static_cast<double>(schedule.transfers) * send_seconds(answer, stages) : 0;
    const auto in_stages = [&](double seconds) { return seconds * share * (1 + waits) + sends; };
    StepTimes times;
    times.lower = (total.bounds.lower + waits * seconds_of(total, "math")) * share;
    times.sequential = in_stages(total.sequential);
    times.upper = in_stages(total.bounds.upper);
    if (answer.expected_s) times.expected = in_stages(*answer.expected_s);
    times.expected_error = answer.expected_error;
    times.bubble = schedule.bubble;
    return times;
}

}  // namespace

Result<TrainStep> train_step(const Model& model, const TrainSetup& setup, const Slice& slice,
                             const TrainRequest& request, std::vector<std::string>& notes) {
    auto schedule = schedule_of(setup);
    if (!schedule) return fail(schedule.error());
    StayingAxes stay;
    auto program = planned_step(model, setup, stay, notes);
    if (!program) return fail(program.error());
    auto calibrations = resolve_calibrations(request.calibration, request.machines);
    if (!calibrations) return fail(calibrations.error());
    CollectiveOptions collectives;
    collectives.textbook = request.textbook;
    auto answer = priced_program(program->program, slice, model.name, request.software,
                                 std::make_shared<Calibrations>(std::move(*calibrations)), collectives, stay);
    if (!answer) return fail(answer.error());
    auto memory = training_memory(*program, answer->local, answer->types, answer->system, schedule->held);
    if (!memory) return fail(memory.error());
    TrainStep step;
    step.share = 1 / static_cast<double>(setup.plan.pipeline);
    step.times = times_of(*answer, *schedule, setup.plan.pipeline);
    step.memory = memory->times(step.share);
    step.program = std::move(*answer);
    return step;
}

}  // namespace roofline
