#include "app/train_answer_of.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "app/expected_op.hpp"
#include "app/model_option.hpp"
#include "app/system_option.hpp"
#include "app/train_options.hpp"
#include "app/train_step.hpp"
#include "model/account.hpp"
#include "model/model.hpp"
#include "model/routed_experts.hpp"
#include "units/text.hpp"

namespace roofline {

namespace {

Result<Slice> slice_of(const TrainRequest& request) {
    std::vector<std::string> sets = request.sets;
    if (!request.price.empty()) sets.push_back("price=" + request.price);
    return resolve_slice(request.machines.front(), sets);
}

/// Tokens of a training sequence where none are asked for. Models are trained on sequences of so many and taught longer contexts at
/// the end (Llama 3: arXiv 2407.21783, section 3.4.1; DeepSeek-V3, with 4,096: arXiv 2412.19437, section 4.2).
constexpr std::int64_t training_sequence = 8192;

Result<Model> model_of(const TrainRequest& request, std::vector<std::string>& notes) {
    auto sequence = size_option(request.sequence, "--seq");
    if (!sequence) return fail(sequence.error());
    auto config = resolve_config(request.config);
    if (!config) return fail(config.error());
    auto model = build_model(*config, *sequence);
    if (model && !*sequence && model->sequence > training_sequence) model = build_model(*config, training_sequence);
    if (!model) return model;
    notes.insert(notes.end(), model->notes.begin(), model->notes.end());
    return model;
}

// What the members of `data` share out.
Result<Plan> with_zero(Plan plan, const std::string& stage) {
    if (stage.empty()) return plan;
    if (stage.size() != 1 || stage.front() < '0' || stage.front() > '3') {
        return fail("bad_plan", fmt::format("--zero: there is no stage `{}`", stage.substr(0, 40)),
                    "1 shares out the optimizer's states, 2 gradients too, 3 parameters too");
    }
    plan.zero = stage.front() - '0';
    if (plan.zero > 0 && plan.data * plan.expert * plan.context * plan.sequence == 1) {
        return fail("bad_plan", "--zero says what the members of `data` share out, and the plan has one member",
                    "give --mesh the axis: data=8; over `fsdp` everything is shared out");
    }
    return plan;
}

Result<Plan> plan_of(const TrainRequest& request, std::int64_t chips, std::vector<std::string>& notes) {
    if (!request.mesh.empty()) {
        return parse_plan(request.mesh, chips, &notes).and_then([&](Plan plan) {
            return with_zero(plan, request.zero);
        });
    }
    if (!request.zero.empty()) return with_zero({}, request.zero);
    Plan plan;
    plan.fsdp = chips;
    if (chips > 1) {
        notes.push_back(
            fmt::format("--mesh is not given: fsdp={}, everything shared out over all chips; other plans are "
                        "not searched",
                        chips));
    }
    return plan;
}

// What is asked for and cannot be answered.
Status check_request(const TrainRequest& request) {
    if (request.mfu && *request.mfu > 1) {
        return fail("bad_mfu", "--mfu: nothing reaches more than its peak", "write a share of it: --mfu 0.4 or 40%");
    }
    return {};
}

// A stage has a layer at least, and a schedule is of stages.
Status check_pipeline(const TrainRequest& request, const Plan& plan, const Model& model) {
    if (plan.pipeline > model.layer_count) {
        return fail("bad_plan",
                    fmt::format("pipeline={}, and the model has {} layers", plan.pipeline, model.layer_count),
                    "give each stage a layer at least");
    }
    if (plan.pipeline == 1 && !request.schedule.empty()) {
        return fail("bad_request", "--schedule is of a pipeline, and the plan has none",
                    "leave it out, or add stages to --mesh: pipeline=4");
    }
    return {};
}

void note_pipeline(TrainAnswer& answer, const TrainRequest& request) {
    if (answer.plan.pipeline == 1) return;
    answer.schedule = request.schedule.empty() ? "1f1b" : request.schedule;
    if (request.microbatches.empty()) {
        answer.notes.emplace_back("--microbatches is not given: the batch is not cut, and all stages but one wait");
    }
}

Result<std::optional<TrainingBatch>> batch_of(const TrainRequest& request, std::int64_t sequence) {
    auto tokens = size_option(request.batch_tokens, "--batch-tokens");
    if (!tokens) return fail(tokens.error());
    auto parts = size_option(request.microbatches, "--microbatches");
    if (!parts) return fail(parts.error());
    if (*tokens) return TrainingBatch{**tokens, sequence, parts->value_or(1)};
    if (!request.mfu) {
        return fail("no_batch", "the batch of a step is not given",
                    "say how many tokens it has: --batch-tokens 4Mi; or assume a utilisation: --mfu 0.4");
    }
    return std::nullopt;
}

// The step, or with an assumed utilisation what keeps it from being predicted as well.
Status predict(TrainAnswer& answer, const TrainRequest& request, const TrainingOptions& options) {
    const BatchShards shards{answer.plan.data * answer.plan.fsdp * answer.plan.expert,
                             answer.plan.sequence * answer.plan.context};
    if (auto status = without_servers(request.calibration); !status) return fail(status.error());
    auto calibrations = resolve_calibrations(request.calibration, request.machines);
    if (!calibrations) return fail(calibrations.error());
    const auto law = built_in_step_law();
    if (!law) return fail(law.error());
    const StepPricing pricing{std::make_shared<Calibrations>(std::move(*calibrations)), request.software,
                              request.textbook, request.explain, *law};
    Result<TrainStep> step = check_batch(*answer.batch, shards).and_then([&]() -> Result<TrainStep> {
        TrainSetup setup{answer.plan, *answer.batch, options, answer.schedule, answer.products, answer.dispatch};
        setup.overlapped = answer.overlapped;
        return train_step(answer.model, setup, answer.slice, pricing, answer.notes);
    });
    if (step) {
        const std::vector<std::string> notes = notes_of(step->program);
        answer.notes.insert(answer.notes.end(), notes.begin(), notes.end());
        const std::int64_t tokens = answer.batch->tokens / answer.batch->microbatches;
        const double each = static_cast<double>(tokens) / static_cast<double>(answer.slice.chips()) *
                            static_cast<double>(answer.plan.pipeline);
        answer.thresholds = training_thresholds(step->program.program, step->program.analysis.total,
                                                step->program.system, answer.plan, each);
        answer.step = std::move(*step);
        if (!answer.step->stage.empty()) {
            answer.notes.push_back(fmt::format("shown is {}, which takes longest: it has {} of {} layers",
                                               answer.step->stage, answer.step->passes, answer.model.layer_count));
        }
        return {};
    }
    if (!answer.assumed_mfu || !request.mesh.empty()) return fail(step.error());
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
        answer.mfu = demand.utilisation(tokens, seconds);
        if (!times.expected && (!answer.step->memory.capacity || answer.step->memory.fits())) {
            answer.notes.push_back(fmt::format(
                "MFU, tokens a second and cost are those of the lower bound, which no run can beat: nothing "
                "that covers this step is calibrated for {}",
                answer.slice.machine.name));
        }
    }
    const bool fits = answer.assumed_mfu || !answer.step->memory.capacity || answer.step->memory.fits();
    if (!fits) answer.mfu.reset();
    if (answer.products && answer.mfu) {
        answer.notes.push_back(
            fmt::format("MFU is over the peak of bf16 also where products are in {}", name(*answer.products)));
    }
    if (answer.batch) answer.step_s = seconds;
    if (fits) answer.tokens_per_s = tokens / seconds;
}

}  // namespace

Result<TrainAnswer> train_answer_of(const TrainRequest& request) {
    TrainAnswer answer;
    if (auto status = check_request(request); !status) return fail(status.error());
    auto options = training_options(request);
    if (!options) return fail(options.error());
    auto slice = slice_of(request);
    if (!slice) return fail(slice.error());
    answer.slice = std::move(*slice);
    answer.notes = answer.slice.notes;
    auto model = model_of(request, answer.notes);
    if (!model) return fail(model.error());
    answer.model = std::move(*model);
    answer.sequence_given = !request.sequence.empty() || answer.model.context <= training_sequence;
    if (!answer.sequence_given) {
        answer.notes.push_back(fmt::format(
            "--seq is not given: sequences of {} tokens are taken, as models are trained before their context is "
            "extended; --seq {} is the whole context",
            training_sequence, answer.model.context));
    }
    auto counts = count_model(answer.model);
    if (!counts) return fail(counts.error());
    answer.counts = std::move(*counts);
    auto demand = training_demand(answer.counts, answer.slice.machine, answer.slice.chips());
    if (!demand) return fail(demand.error());
    answer.demand = *demand;
    auto plan = plan_of(request, answer.slice.chips(), answer.notes);
    if (!plan) return fail(plan.error());
    answer.plan = std::move(*plan);
    if (auto status = check_pipeline(request, answer.plan, answer.model); !status) return fail(status.error());
    note_pipeline(answer, request);
    auto batch = batch_of(request, answer.model.sequence);
    if (!batch) return fail(batch.error());
    answer.batch = *batch;
    answer.remat = remat_text(*options);
    answer.optimizer = optimizer_text(*options);
    auto products = narrow_dtype(request.products, "--products");
    if (!products) return fail(products.error());
    answer.products = *products;
    auto dispatch = narrow_dtype(request.dispatch, "--dispatch");
    if (!dispatch) return fail(dispatch.error());
    if (*dispatch && routed_experts(answer.model.program).empty()) {
        return fail("bad_request", "--dispatch is of tokens that go to experts, and the model has none",
                    "leave it out");
    }
    answer.dispatch = *dispatch;
    auto overlapped = overlapped_axes(request.overlap, answer.plan);
    if (!overlapped) return fail(overlapped.error());
    answer.overlapped = std::move(*overlapped);
    answer.assumed_mfu = request.mfu;
    if (answer.batch) {
        if (auto status = predict(answer, request, *options); !status) return fail(status.error());
    }
    add_rates(answer);
    auto tokens = size_option(request.tokens, "--tokens");
    if (!tokens) return fail(tokens.error());
    if (*tokens && answer.tokens_per_s) {
        answer.cost = training_cost(answer.demand, **tokens, *answer.tokens_per_s, answer.slice.machine.price);
    }
    return answer;
}

}  // namespace roofline
