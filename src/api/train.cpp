#include "predict/train/train.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "api/data.hpp"
#include "api/training_job.hpp"
#include "api/words.hpp"
#include "model/lora.hpp"
#include "model/routed_experts.hpp"
#include "predict/train/framework.hpp"
#include "report/train/train_figures.hpp"

namespace roofline {

namespace {

core::Plan core_plan(const TrainingPlan& plan) {
    core::Plan other;
    other.data = plan.data;
    other.fsdp = plan.fsdp;
    other.tensor = plan.tensor;
    other.sequence = plan.sequence;
    other.context = plan.context;
    other.expert = plan.expert;
    other.pipeline = plan.pipeline;
    other.zero = plan.zero;
    other.experts_over_tensor = plan.experts_over_tensor;
    return other;
}

Result<core::Plan> plan_for(const TrainingOptions& options, std::int64_t chips) {
    TrainingPlan all;
    all.fsdp = chips;
    core::Plan plan = core_plan(options.plan.value_or(all));
    ROOFLINE_CHECK(core::check_plan(plan, chips));
    if (plan.zero < 0 || plan.zero > 3) {
        return core::fail("bad_plan", fmt::format("zero = {}: there is no such ZeRO stage", plan.zero),
                          "1 shards optimizer states, 2 also gradients, 3 also parameters");
    }
    if (plan.zero > 0 && plan.replicas() == 1) {
        return core::fail("bad_plan", "zero shards over the axis `data`, which the plan does not use",
                          "set data to 2 or more; the axis `fsdp` shards everything");
    }
    return plan;
}

Result<core::TrainingOptions> update_of(const TrainingOptions& options) {
    const Optimizer& optimizer = options.optimizer;
    core::TrainingOptions all;
    all.remat = core_remat(options.recomputation);
    all.kept = options.kept_tensors;
    if ((options.recomputation == Recomputation::named) == options.kept_tensors.empty()) {
        return core::fail("bad_request",
                          "a list of kept tensors needs Recomputation::named, and the policy needs a list",
                          "name tensors in `kept_tensors`, or leave it empty and choose another policy");
    }
    const bool sgd = optimizer.kind == Optimizer::Kind::sgd;
    if (sgd && (optimizer.master || optimizer.unfused || optimizer.moments != Dtype::f32)) {
        return core::fail("bad_optimizer", "moments, master copies and unfused operations exist only for Adam",
                          "do not set them for an optimizer of kind sgd");
    }
    if (core::info(optimizer.moments).kind == core::DtypeKind::logical) {
        return core::fail("bad_dtype", "moments: bool is not a numeric type", "f32 or bf16, for example");
    }
    all.optimizer = sgd ? core::Optimizer::sgd : core::Optimizer::adam;
    all.moments = optimizer.moments;
    all.master = optimizer.master;
    all.unfused = optimizer.unfused;
    all.f32_gradients = optimizer.f32_gradients;
    all.input_gradients = false;  // nothing precedes the model that would need its gradient
    return all;
}

Result<core::Pipeline> schedule_for(const TrainingOptions& options, const core::Plan& plan) {
    if (!options.schedule) return core::Pipeline{};
    if (plan.pipeline == 1) {
        return core::fail("bad_request", "a schedule needs a pipeline, but the plan has none",
                          "remove the schedule, or add stages to the plan: pipeline = 4");
    }
    return core_schedule(*options.schedule);
}

Status check_narrow(const std::optional<Dtype>& dtype, std::string_view what) {
    if (!dtype || core::narrow_float(*dtype)) return {};
    return core::fail("bad_dtype",
                      fmt::format("{}: {} is not a floating-point format below 16 bits", what, name(*dtype)),
                      "use for example fp8, mxfp8 or nvfp4; without the option it is bf16");
}

constexpr std::array axis_names{"data", "fsdp", "tensor", "sequence", "context", "expert", "pipeline"};

Result<std::vector<std::string>> overlapped_names(const TrainingOptions& options, const core::Plan& plan) {
    std::vector<std::string> names;
    for (const PlanAxis axis : options.overlapped) {
        const std::string wanted(axis_name(axis));
        for (const auto& [known, degree] : core::plan_axes(plan)) {
            if (known != wanted || degree > 1) continue;
            return core::fail("bad_request", fmt::format("overlapped: the plan does not use the axis `{}`", wanted),
                              fmt::format("remove it, or add the axis to the plan: {} = 8", wanted));
        }
        if (!core::has(names, wanted)) names.push_back(wanted);
    }
    return names;
}

Status check_numbers(const TrainingOptions& options) {
    if (options.assumed_mfu && !(*options.assumed_mfu > 0 && *options.assumed_mfu <= 1)) {
        return core::fail("bad_mfu", "an assumed utilization must be above 0 and at most 1", "0.4 is 40 %");
    }
    if (!options.batch_tokens && !options.assumed_mfu) {
        return core::fail("no_batch", "neither a batch size nor a utilization is given",
                          "give batch_tokens, or assume a utilization: assumed_mfu = 0.4");
    }
    for (const std::int64_t count :
         {options.batch_tokens.value_or(1), options.microbatches, options.total_tokens.value_or(1)}) {
        if (count < 1) return core::fail("bad_size", "the numbers of tokens and micro-batches must be at least 1", "");
    }
    return {};
}

Result<std::optional<core::RecoveryQuestion>> recovery_of(const TrainingOptions& options) {
    if (!options.recovery) return std::nullopt;
    const Recovery& recovery = *options.recovery;
    if (!options.total_tokens) {
        return core::fail("bad_request", "a recovery is about a whole run, whose tokens are not given",
                          "set total_tokens");
    }
    const double rate = recovery.interruptions_per_chip ? recovery.interruptions_per_chip->value : 1;
    const double restart = recovery.restart ? recovery.restart->value : 0;
    const double storage = recovery.storage.value;
    if (!(storage > 0) || !std::isfinite(storage) || !(rate > 0) || !std::isnormal(rate) || !(restart >= 0) ||
        !std::isfinite(restart)) {
        return core::fail("bad_recovery",
                          "bandwidth and rate of interruptions must be above 0, and no restart takes less than 0 s",
                          "for example Recovery{.storage = Bandwidth{2e12}}");
    }
    core::RecoveryQuestion question;
    question.bandwidth = storage;
    if (recovery.interruptions_per_chip) question.interruptions = rate;
    if (recovery.restart) question.restart_s = restart;
    question.blocking = recovery.blocking;
    return question;
}

Status add_setup(core::TrainQuestion& question, const TrainingOptions& options) {
    core::TrainSetup& setup = question.setup;
    ROOFLINE_TRY(setup.options, update_of(options));
    ROOFLINE_TRY(setup.plan, plan_for(options, question.slice.chips()));
    ROOFLINE_TRY(setup.schedule, schedule_for(options, setup.plan));
    ROOFLINE_CHECK(check_narrow(options.matmul_dtype, "matmul_dtype"));
    ROOFLINE_CHECK(check_narrow(options.dispatch_dtype, "dispatch_dtype"));
    setup.products = options.matmul_dtype;
    setup.dispatch = options.dispatch_dtype;
    if (setup.dispatch && core::routed_experts(question.model.program).empty()) {
        return core::fail("bad_request", "dispatch_dtype needs a model with experts", "leave it out");
    }
    ROOFLINE_TRY(setup.overlapped, overlapped_names(options, setup.plan));
    question.batch_given = options.batch_tokens.has_value();
    if (options.batch_tokens) {
        setup.batch = {*options.batch_tokens, question.model.sequence, options.microbatches};
    }
    return {};
}

Status add_framework(core::TrainQuestion& question, const TrainingOptions& options) {
    if (options.framework.empty()) {
        return core::use_default_framework(question);
    }
    const std::vector<std::string> overlapped = question.setup.overlapped;
    ROOFLINE_TRY(auto framework, core::framework_named(options.framework));
    core::use_framework(std::move(framework), false, question);
    if (!overlapped.empty()) question.setup.overlapped = overlapped;
    return {};
}

TrainingMemory memory_of(const core::TrainingMemory& memory) {
    TrainingMemory bytes{Bytes{memory.params},      Bytes{memory.gradients}, Bytes{memory.optimizer},
                         Bytes{memory.activations}, Bytes{memory.working},   Bytes{memory.overhead()},
                         Bytes{memory.total()}};
    if (memory.capacity) bytes.capacity = Bytes{*memory.capacity};
    return bytes;
}

TrainingStep step_of(const core::TrainStep& priced) {
    const core::StepTimes& times = priced.times;
    TrainingStep step{Seconds{times.lower}, Seconds{times.sequential}, Seconds{times.upper},
                      expected_of(times.expected, times.expected_error), times.bubble};
    step.bound_by = bound_of(priced.program.analysis.total);
    step.resources = resource_times(priced.program.analysis.total);
    for (const core::StepCollective& each : core::step_collectives(priced)) {
        step.collectives.push_back({each.kind, each.axes, "", Bytes{each.bytes}, each.count, Seconds{each.seconds}});
    }
    step.memory = memory_of(priced.memory);
    return step;
}

TrainingCost cost_of(const core::TrainingCost& cost) {
    constexpr double hour = 3600;
    TrainingCost whole{Flops{cost.flops}, Seconds{cost.seconds}, Seconds{cost.chip_hours * hour}};
    if (cost.usd) whole.usd = Usd{*cost.usd};
    return whole;
}

TrainingGoodput goodput_of(const core::TrainingCost& ideal, const core::Goodput& goodput) {
    const TrainingCost calendar = cost_of(core::cost_with(goodput, ideal));
    return {goodput.fraction,
            calendar.time,
            calendar.chip_time,
            calendar.usd,
            goodput.interruptions,
            Seconds{goodput.between_s},
            Bytes{goodput.checkpoint_bytes},
            Seconds{goodput.checkpoint_s},
            Seconds{goodput.interval_s},
            goodput.writing,
            goodput.rework,
            goodput.restarts};
}

Result<TrainingPrediction> trained(const Model& model, const System& system, const TrainingOptions& options) {
    ROOFLINE_TRY(auto question, training_job(model, system, options));
    ROOFLINE_TRY(auto answer, core::predict_training(std::move(question), calibrations_of(system, options.calibrated)));
    return public_training(std::move(answer));
}

}  // namespace

Result<core::TrainQuestion> training_job(const Model& model, const System& system, const TrainingOptions& options) {
    ROOFLINE_CHECK(check_numbers(options));
    if (!system.data().mesh.empty()) {
        return core::fail("bad_request",
                          "the plan determines the mesh of a training step, but the system already has a mesh",
                          "give the slice without with_mesh()");
    }
    core::TrainQuestion question;
    question.slice = system.data().slice;
    question.notes = question.slice.notes;
    ROOFLINE_TRY(question.model, core::training_model(model.data().config, model.data().sequence));
    question.notes.insert(question.notes.end(), question.model.notes.begin(), question.model.notes.end());
    if (options.lora) {
        const core::LoraOptions lora{options.lora->rank, options.lora->on, options.lora->frozen_dtype};
        ROOFLINE_TRY(question.model, core::with_lora(std::move(question.model), lora));
    }
    question.sequence_given = model.data().sequence || question.model.context <= core::training_sequence;
    question.plan_given = options.plan.has_value();
    ROOFLINE_CHECK(add_setup(question, options));
    ROOFLINE_CHECK(add_framework(question, options));
    question.mfu = options.assumed_mfu;
    question.tokens = options.total_tokens;
    ROOFLINE_TRY(question.recovery, recovery_of(options));
    question.software = options.software;
    question.textbook = options.textbook;
    return question;
}

TrainingPrediction public_training(core::TrainAnswer answer) {
    TrainingPrediction prediction;
    if (answer.step) prediction.step = step_of(*answer.step);
    if (answer.step_s) prediction.step_time = Seconds{*answer.step_s};
    prediction.mfu = answer.mfu;
    prediction.trained_parameters = static_cast<std::int64_t>(answer.counts.total.trained.to_double());
    if (answer.tokens_per_s) prediction.tokens_per_second = Frequency{*answer.tokens_per_s};
    if (answer.cost) prediction.cost = cost_of(*answer.cost);
    if (answer.cost && answer.goodput) prediction.goodput = goodput_of(*answer.cost, *answer.goodput);
    prediction.notes = core::in_library_terms(answer.notes);
    prediction.data = std::make_shared<const TrainingPrediction::Data>(TrainingPrediction::Data{std::move(answer)});
    return prediction;
}

core::Remat core_remat(Recomputation recomputation) {
    switch (recomputation) {
        case Recomputation::none:
            return core::Remat::none;
        case Recomputation::selective:
            return core::Remat::selective;
        case Recomputation::alternate:
            return core::Remat::alternate;
        case Recomputation::full:
            return core::Remat::full;
        case Recomputation::named:
            return core::Remat::named;
    }
    return core::Remat::none;
}

core::Pipeline core_schedule(const PipelineSchedule& schedule) {
    core::Pipeline pipeline;
    using Kind = PipelineSchedule::Kind;
    switch (schedule.kind) {
        case Kind::gpipe:
            pipeline.schedule = core::Schedule::gpipe;
            break;
        case Kind::one_f_one_b:
            pipeline.schedule = core::Schedule::one_f_one_b;
            break;
        case Kind::interleaved:
            pipeline.schedule = core::Schedule::interleaved;
            pipeline.chunks = schedule.virtual_stages;
            break;
        case Kind::zero_bubble:
            pipeline.schedule = core::Schedule::zero_bubble;
            break;
    }
    return pipeline;
}

std::string_view axis_name(PlanAxis axis) { return axis_names[static_cast<std::size_t>(axis)]; }

Result<TrainingPrediction> predict_training(const Model& model, const System& system, const TrainingOptions& options) {
    return core::in_library_terms(trained(model, system, options));
}

std::string TrainingPrediction::to_json() const { return data ? core::train_json(data->answer) : std::string(); }

}  // namespace roofline
