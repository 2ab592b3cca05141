#include "predict/train/run_goodput.hpp"

#include <fmt/format.h>

#include "plan/interruptions.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

std::string rate_text(double rate) {
    return fmt::format("{} interruptions per 1,000 chip-days", number_text(rate * thousand_chip_days));
}

}  // namespace

Result<double> checkpoint_bytes(const Model& model, const TrainingOptions& options) {
    TrainingOptions plain = options;
    plain.remat = Remat::none;
    plain.kept = {};
    ROOFLINE_TRY(const auto forward, with_loss(model.program, options.f32_logits));
    ROOFLINE_TRY(const auto step, training_step(forward, plain));
    Polynomial bytes = bytes_of(step, StepRole::optimizer_state);
    for (const StepTensor& tensor : step.tensors) {
        const Value& value = step.program.values[tensor.value];
        if (tensor.role != StepRole::param || value.frozen) continue;  // frozen ones do not change
        bytes += bytes_of(step.program.local_dims, value) * elements(step.program.local_dims, tensor.repeats);
    }
    const auto number = bytes.evaluate(step.program.sizes);
    if (!number) {
        return fail("too_large", "the bytes of a checkpoint cannot be counted", "check the sizes of the model");
    }
    return number->to_double();
}

std::optional<Recovery> recovery_of(const RecoveryQuestion& question, const Machine& machine, double step_s) {
    const InterruptionRecords& published = published_interruptions();
    const PublishedInterruptions* known = published.find(machine.id);
    if (!question.interruptions && known == nullptr) return std::nullopt;
    Recovery recovery;
    recovery.bandwidth = question.bandwidth;
    recovery.blocking = question.blocking;
    recovery.step_s = step_s;
    recovery.interruptions = question.interruptions ? *question.interruptions : known->rate;
    recovery.restart_s = question.restart_s.value_or(published.restart_s);
    return recovery;
}

Status add_goodput(TrainAnswer& answer, const std::optional<RecoveryQuestion>& question) {
    if (!answer.cost) return {};
    if (!question) {
        answer.notes.emplace_back("duration and cost are without interruptions; give --storage for the goodput");
        return {};
    }
    const InterruptionRecords& published = published_interruptions();
    const PublishedInterruptions* known = published.find(answer.slice.machine.id);
    const auto recovery = recovery_of(*question, answer.slice.machine, answer.step_s.value_or(0));
    if (!recovery) {
        answer.notes.push_back(fmt::format(
            "no rate of interruptions is published for {}, so there is no goodput; give a rate with --failures",
            answer.slice.machine.name));
        return {};
    }
    if (!question->interruptions) {
        answer.notes.push_back(
            fmt::format("{}: {} ({})", rate_text(recovery->interruptions), known->system, known->source));
    }
    if (!question->restart_s) {
        answer.notes.push_back(fmt::format("a restart takes {} minutes: {}", number_text(published.restart_s / 60),
                                           published.restart_source));
    }
    ROOFLINE_TRY(const double bytes, checkpoint_bytes(answer.model, answer.options));
    ROOFLINE_TRY(answer.goodput, goodput_of(*recovery, bytes, answer.cost->seconds, answer.slice.chips()));
    return {};
}

}  // namespace roofline::core
