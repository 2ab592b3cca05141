#include "app/train_question.hpp"

#include <fmt/format.h>

#include <utility>

#include "app/model_option.hpp"
#include "app/number_option.hpp"
#include "app/recovery_option.hpp"
#include "app/system_option.hpp"
#include "app/train_options.hpp"
#include "model/model.hpp"
#include "model/routed_experts.hpp"
#include "predict/train/framework.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

Result<Slice> slice_of(const TrainRequest& request) {
    std::vector<std::string> sets = request.sets;
    if (!request.price.empty()) sets.push_back("price=" + request.price);
    return resolve_slice(request.machines.front(), sets);
}

// Ranges are what `plan train` searches.
Status check_one(const std::string& word, std::string_view option) {
    if (word.find("..") == std::string::npos && word.find(',') == std::string::npos) return {};
    return wrong_option(option, word, "`train` takes one number, and this is a range",
                        "ranges are for `roofline plan train`");
}

Result<Model> model_of(const TrainRequest& request, std::vector<std::string>& notes) {
    ROOFLINE_CHECK(check_one(request.sequence, "--seq"));
    ROOFLINE_TRY(auto sequence, size_option(request.sequence, "--seq"));
    ROOFLINE_TRY(auto config, resolve_config(request.config));
    ROOFLINE_TRY(auto model, training_model(config, sequence));
    notes.insert(notes.end(), model.notes.begin(), model.notes.end());
    ROOFLINE_TRY(const auto lora, lora_options(request));
    if (lora) return with_lora(std::move(model), *lora);
    return model;
}

// Sets the ZeRO stage of the `data` axis.
Result<Plan> with_zero_stage(Plan plan, const std::string& stage) {
    if (stage.empty()) return plan;
    if (stage.size() != 1 || stage.front() < '0' || stage.front() > '3') {
        return fail("bad_plan", fmt::format("--zero: there is no stage `{}`", stage.substr(0, 40)),
                    "1 shards optimizer states, 2 also gradients, 3 also parameters");
    }
    plan.zero = stage.front() - '0';
    if (plan.zero > 0 && plan.replicas() == 1) {
        return fail("bad_plan", "--zero shards over the axis `data`, which the plan does not use",
                    "add the axis to --mesh: data=8; the axis `fsdp` shards everything");
    }
    return plan;
}

Result<Plan> plan_of(const TrainRequest& request, std::int64_t chips, std::vector<std::string>& notes) {
    if (!request.mesh.empty()) {
        return parse_plan(request.mesh, chips, &notes).and_then([&](Plan plan) {
            return with_zero_stage(plan, request.zero);
        });
    }
    if (!request.zero.empty()) return with_zero_stage({}, request.zero);
    Plan plan;
    plan.fsdp = chips;
    if (chips > 1) {
        notes.push_back(fmt::format("--mesh is not given: fsdp={} shards everything over all chips", chips));
    }
    return plan;
}

// Rejects combinations of options that cannot be answered.
Status check_request(const TrainRequest& request) {
    if (request.mfu && *request.mfu > 1) {
        return fail("bad_mfu", "--mfu: a utilization cannot exceed 100 %",
                    "give a fraction of the peak: --mfu 0.4 or 40%");
    }
    return {};
}

// Requires that a schedule is given only for a plan with pipeline stages.
Result<Pipeline> schedule_of(const TrainRequest& request, const Plan& plan) {
    if (plan.pipeline == 1 && !request.schedule.empty()) {
        return fail("bad_request", "--schedule needs a pipeline, but the plan has none",
                    "remove the option, or add stages to --mesh: pipeline=4");
    }
    return request.schedule.empty() ? Pipeline{} : parse_schedule(request.schedule);
}

Result<std::optional<TrainingBatch>> batch_of(const TrainRequest& request, std::int64_t sequence) {
    ROOFLINE_CHECK(check_one(request.batch_tokens, "--batch-tokens"));
    ROOFLINE_TRY(auto tokens, size_option(request.batch_tokens, "--batch-tokens"));
    ROOFLINE_TRY(auto parts, size_option(request.microbatches, "--microbatches", "for example 8"));
    if (tokens) return TrainingBatch{*tokens, sequence, parts.value_or(1)};
    if (!request.mfu) {
        return fail("no_batch", "the batch size is not given",
                    "give its tokens, --batch-tokens 4Mi, or assume a utilization, --mfu 0.4");
    }
    return std::nullopt;
}

// What the user says of the optimizer replaces what the framework does.
Status add_framework(const TrainRequest& request, TrainQuestion& question) {
    if (request.framework.name.empty()) {
        return use_default_framework(question);
    }
    auto framework = framework_named(request.framework.name, request.framework.text);
    if (!framework) {
        Error error = framework.error();
        error.message = "--framework: " + error.message;
        return fail(std::move(error));
    }
    use_framework(std::move(*framework), request.optimizer.empty(), question);
    return {};
}

}  // namespace

Result<TrainQuestion> train_job(const TrainRequest& request) {
    TrainQuestion question;
    TrainSetup& setup = question.setup;
    ROOFLINE_CHECK(check_request(request));
    ROOFLINE_TRY(setup.options, training_options(request));
    ROOFLINE_TRY(question.slice, slice_of(request));
    question.notes = question.slice.notes;
    ROOFLINE_TRY(question.model, model_of(request, question.notes));
    question.sequence_given = !request.sequence.empty() || question.model.context <= training_sequence;
    if (!question.sequence_given) {
        question.notes.push_back(
            fmt::format("--seq is not given: sequences of {} tokens are assumed, the usual length before a model's "
                        "context is extended; --seq {} is the whole context",
                        training_sequence, question.model.context));
    }
    ROOFLINE_TRY(const auto batch, batch_of(request, question.model.sequence));
    question.batch_given = batch.has_value();
    if (batch) setup.batch = *batch;
    ROOFLINE_TRY(setup.products, narrow_dtype(request.products, "--products"));
    ROOFLINE_TRY(setup.dispatch, narrow_dtype(request.dispatch, "--dispatch"));
    if (setup.dispatch && routed_experts(question.model.program).empty()) {
        return fail("bad_request", "--dispatch needs a model with experts", "leave it out");
    }
    ROOFLINE_CHECK(add_framework(request, question));
    question.mfu = request.mfu;
    ROOFLINE_TRY(question.tokens, size_option(request.tokens, "--tokens"));
    ROOFLINE_TRY(question.recovery, recovery_option(request));
    question.software = request.software;
    question.textbook = request.textbook;
    question.explained = request.explain;
    return question;
}

Result<TrainQuestion> train_question(const TrainRequest& request) {
    ROOFLINE_TRY(auto question, train_job(request));
    TrainSetup& setup = question.setup;
    question.plan_given = !request.mesh.empty();
    const bool tensor_tokens = setup.plan.tensor_tokens;
    ROOFLINE_TRY(setup.plan, plan_of(request, question.slice.chips(), question.notes));
    setup.plan.tensor_tokens = request.tensor_tokens.value_or(tensor_tokens);
    ROOFLINE_TRY(setup.schedule, schedule_of(request, setup.plan));
    if (setup.plan.pipeline > 1 && request.microbatches.empty()) {
        question.notes.emplace_back("--microbatches is not given: with one microbatch, all stages but one are idle");
    }
    if (!request.overlap.empty()) {
        ROOFLINE_TRY(setup.overlapped,
                     overlapped_axes(request.overlap, setup.plan, !routed_experts(question.model.program).empty()));
    }
    return question;
}

}  // namespace roofline::core
