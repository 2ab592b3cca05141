#include "app/planned_step.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "app/profile_option.hpp"
#include "app/serve_question.hpp"
#include "app/system_option.hpp"
#include "app/training_answer.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

/// Sets what the request of the profile has in common with that of its step.
template <class Step>
Status share(const TraceRequest& request, Step& step) {
    step.config = *request.model;
    step.machines = request.machines;
    step.sets = request.sets;
    step.software = request.software;
    step.calibration = request.calibration;
    step.mesh = request.mesh;
    if (!step.mesh.empty()) return {};
    ROOFLINE_TRY(const auto slice, resolve_slice(request.machines.front(), request.sets));
    if (slice.chips() > 1) {
        return fail("no_plan", fmt::format("the plan of the model on {} chips is not given", slice.chips()),
                    "for example --mesh fsdp=8");
    }
    step.mesh = {"data=1"};
    return {};
}

std::string of_plan(const TraceRequest& request) {
    return request.mesh.empty() ? "" : fmt::format(", {}", fmt::join(request.mesh, ","));
}

Result<PlannedStep> training_step(const TraceRequest& request) {
    TrainRequest train = request.train;
    ROOFLINE_CHECK(share(request, train));
    ROOFLINE_TRY(const auto answer, train_answer_of(train));
    if (!answer.step) return fail("no_batch", "the batch size is not given", "for example --batch-tokens 4Mi");
    if (answer.plan.pipeline > 1) {
        return fail("bad_plan", "the stages of a pipeline have different kernels, and the stage of a rank is not known",
                    "leave --model out, or compare with a plan without pipeline parallelism");
    }
    PlannedStep planned;
    planned.recomputes = answer.options.remat != Remat::none;
    planned.job = fmt::format("training step of {}, {} tokens{}", file_name(request.model->name),
                              grouped(answer.batch->tokens), of_plan(request));
    planned.passes.push_back(planned_pass("training step", answer.step->program));
    return planned;
}

Result<PlannedStep> serving_step(const TraceRequest& request) {
    ServeRequest serve = request.serve;
    ROOFLINE_CHECK(share(request, serve));
    ROOFLINE_TRY(const auto answer, serve_answer_of(serve, false));
    PlannedStep planned;
    planned.counted = false;
    planned.job = fmt::format("prefill and decode of {}{}", file_name(request.model->name), of_plan(request));
    planned.passes.push_back(planned_pass("prefill of one prompt", answer.prefill));
    planned.passes.push_back(planned_pass("decode step", answer.decode));
    return planned;
}

bool any_given(std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(), [](std::string_view word) { return !word.empty(); });
}

/// Whether options other than the batch are given.
bool has_train_options(const TrainRequest& train) {
    return any_given({train.sequence, train.remat, train.microbatches, train.zero, train.optimizer});
}
bool has_serve_options(const ServeRequest& serve) {
    return any_given({serve.prompt, serve.output, serve.weights, serve.kv_dtype});
}

}  // namespace

bool has_plan(const TraceRequest& request) {
    return !request.mesh.empty() || any_given({request.train.batch_tokens, request.serve.batch}) ||
           has_train_options(request.train) || has_serve_options(request.serve);
}

Result<PlannedStep> planned_step(const TraceRequest& request) {
    const bool trains = !request.train.batch_tokens.empty();
    const bool serves = !request.serve.batch.empty();
    const bool train_options = has_train_options(request.train);
    const bool serve_options = has_serve_options(request.serve);
    if (trains == serves) {
        return fail("no_batch", trains ? "a step cannot be of training and of serving" : "the batch size is not given",
                    "for training --batch-tokens 64Ki (tokens on all chips), for serving --batch 8 (sequences)");
    }
    if ((trains && serve_options) || (serves && train_options)) {
        return fail("bad_request",
                    trains
                        ? "--prompt, --output, --weights and --kv-dtype are for serving, and --batch-tokens is a "
                          "batch size of training"
                        : "--seq, --microbatches, --zero, --remat and --optimizer are for training, and --batch is a "
                          "batch size of serving",
                    "leave one of them out");
    }
    return trains ? training_step(request) : serving_step(request);
}

}  // namespace roofline::core
