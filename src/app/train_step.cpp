#include "app/train_step.hpp"

#include <memory>

#include "app/expected_op.hpp"
#include "app/priced_program.hpp"
#include "plan/apply_plan.hpp"

namespace roofline {

namespace {

// Forward, backward and optimizer of one microbatch's sequences, its subscripts those of the plan.
Result<TrainingProgram> planned_step(const Model& model, const TrainSetup& setup, std::vector<std::string>& notes) {
    Program forward = model.program;
    forward.sizes["B"] = setup.batch.sequences();
    auto with = with_loss(forward);
    if (!with) return fail(with.error());
    auto step = training_step(*with, setup.options);
    if (!step) return step;
    auto planned = apply_plan(step->program, model.roles, setup.plan);
    if (!planned) return fail(planned.error());
    notes.insert(notes.end(), planned->notes.begin(), planned->notes.end());
    step->program = std::move(planned->program);
    return step;
}

StepTimes times_of(const OpAnswer& answer) {
    const Analysis& total = answer.analysis.total;
    return {total.bounds.lower, total.sequential, total.bounds.upper, answer.expected_s, answer.expected_error, 0};
}

}  // namespace

Result<TrainStep> train_step(const Model& model, const TrainSetup& setup, const Slice& slice,
                             const TrainRequest& request, std::vector<std::string>& notes) {
    auto program = planned_step(model, setup, notes);
    if (!program) return fail(program.error());
    auto calibrations = resolve_calibrations(request.calibration, request.machines);
    if (!calibrations) return fail(calibrations.error());
    CollectiveOptions collectives;
    collectives.textbook = request.textbook;
    auto answer = priced_program(program->program, slice, model.name, request.software,
                                 std::make_shared<Calibrations>(std::move(*calibrations)), collectives);
    if (!answer) return fail(answer.error());
    auto memory = training_memory(*program, answer->local, answer->types, answer->system, 1);
    if (!memory) return fail(memory.error());
    const StepTimes times = times_of(*answer);
    return TrainStep{std::move(*answer), times, *memory};
}

}  // namespace roofline
