#include "app/train_launch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "app/model_option.hpp"
#include "app/system_option.hpp"
#include "app/train_options.hpp"
#include "model/model.hpp"
#include "model/routed_experts.hpp"
#include "report/train/train_words.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

/// Sets options of a request, or checks that they say the same as the file.
class LaunchOptions {
public:
    LaunchOptions(TrainRequest& request, const LaunchTable& table, const TrainingLaunch& launch, std::int64_t chips)
        : request_(request), table_(table), launch_(launch), chips_(chips), file_(request.plan_from->file.name) {}

    Status set(std::vector<std::string>& notes) {
        ROOFLINE_CHECK(set_mesh());
        ROOFLINE_CHECK(set_batch());
        ROOFLINE_CHECK(set_schedule());
        ROOFLINE_CHECK(set_options());
        set_overlap();
        if (request_.framework.name.empty() && !table_.framework.empty()) {
            request_.framework.name = table_.framework;
            notes.push_back(fmt::format("--framework {}, because {} is for {}; name another to assume it",
                                        table_.framework, file_, table_.title));
        }
        return {};
    }

private:
    [[nodiscard]] tl::unexpected<Error> differs(std::string_view option, std::string_view given,
                                                std::string_view said) const {
        return fail("contradiction",
                    fmt::format("{} is {}, but {} says {}", option, given.empty() ? "none" : given, file_,
                                said.empty() ? "none" : said),
                    fmt::format("leave {} out, or change the file", option));
    }

    Status set_mesh() {
        const Plan& plan = launch_.plan;
        const std::string mesh = plan.chips() == 1 ? "data=1" : mesh_option(plan);
        if (!request_.mesh.empty()) {
            ROOFLINE_TRY(auto given, parse_plan(request_.mesh, chips_));
            given.zero = plan.zero;
            given.tensor_tokens = plan.tensor_tokens;
            if (!given.same_axes(plan)) return differs("--mesh", plan_text(given), mesh);
        } else {
            request_.mesh = {mesh};
        }
        const std::string zero = fmt::format("{}", plan.zero);
        if (!request_.zero.empty() && request_.zero != zero) return differs("--zero", request_.zero, zero);
        if (plan.zero > 0) request_.zero = zero;
        request_.tensor_tokens = plan.tensor_tokens;
        return {};
    }

    Status set_size(std::string& word, std::string_view option, const std::optional<std::int64_t>& size) {
        if (!size) return {};
        ROOFLINE_TRY(const auto given, size_option(word, option));
        if (given && *given != *size) return differs(option, word, fmt::format("{}", *size));
        if (!given) word = fmt::format("{}", *size);
        return {};
    }

    Status set_batch() {
        ROOFLINE_CHECK(set_size(request_.sequence, "--seq", launch_.sequence));
        ROOFLINE_CHECK(set_size(request_.microbatches, "--microbatches", launch_.microbatches));
        if (!launch_.sequences) return {};
        ROOFLINE_TRY(const auto sequence, size_option(request_.sequence, "--seq"));
        if (!sequence) {
            return fail("no_sequence", fmt::format("{} does not say how long sequences are", file_),
                        "give their tokens: --seq 4096");
        }
        std::int64_t tokens = 0;
        if (__builtin_mul_overflow(*sequence, *launch_.sequences, &tokens)) {
            return fail("bad_plan", fmt::format("{}: the tokens of a step are too many", file_));
        }
        return set_size(request_.batch_tokens, "--batch-tokens", tokens);
    }

    Status set_schedule() {
        if (launch_.plan.pipeline == 1) return {};
        const std::string schedule = schedule_text(launch_.schedule);
        if (request_.schedule.empty()) {
            request_.schedule = schedule;
            return {};
        }
        ROOFLINE_TRY(const auto given, parse_schedule(request_.schedule));
        if (schedule_text(given) != schedule) return differs("--schedule", request_.schedule, schedule);
        return {};
    }

    Status set_options() {
        if (launch_.remat) {
            const std::string said = remat_text(*launch_.remat);
            if (!request_.remat.empty() && request_.remat != said) return differs("--remat", request_.remat, said);
            request_.remat = said;
        }
        if (launch_.numbers) {
            const std::string said = launch_.products ? std::string(name(*launch_.products)) : "";
            ROOFLINE_TRY(const auto given, narrow_dtype(request_.products, "--products"));
            if (given && given != launch_.products) return differs("--products", request_.products, said);
            request_.products = said;
        }
        if (!launch_.optimizer) return {};
        const std::string said = optimizer_option(*launch_.optimizer);
        if (request_.optimizer.empty()) {
            request_.optimizer = said;
            return {};
        }
        ROOFLINE_TRY(const auto given, training_options(request_));
        if (optimizer_option(given) != said) return differs("--optimizer", request_.optimizer, said);
        return {};
    }

    static std::string optimizer_option(const TrainingOptions& options) {
        std::string text = options.optimizer == Optimizer::sgd ? "sgd" : "adam";
        if (options.optimizer == Optimizer::adam) {
            if (options.moments != Dtype::f32) text += fmt::format(",moments={}", name(options.moments));
            if (options.master) text += ",master";
        }
        if (options.f32_gradients) text += ",gradients=f32";
        return text;
    }

    // What the user says of overlap replaces the flags: it says how well a run could do.
    void set_overlap() {
        if (!launch_.overlapped || !request_.overlap.empty()) return;
        request_.overlap =
            launch_.overlapped->empty() ? "none" : fmt::format("{}", fmt::join(*launch_.overlapped, ","));
    }

    TrainRequest& request_;
    const LaunchTable& table_;
    const TrainingLaunch& launch_;
    std::int64_t chips_;
    const std::string file_;
};

// Nodes, or pods of TPUs.
std::int64_t slices_in(const Slice& slice) {
    for (const SliceTier& tier : slice.tiers) {
        if (joins_chips(slice.network(tier))) return slice.chips() / tier.members();
    }
    return 1;
}

}  // namespace

Result<LaunchTable> table_of_file(const LaunchFile& file, bool trains) {
    if (!file.framework.empty()) return launch_table(file.framework, trains);
    return recognised_launch(file.file.text, file.file.name, trains);
}

Result<TrainRequest> with_training_launch(TrainRequest request, std::vector<std::string>& notes) {
    const LaunchFile& file = *request.plan_from;
    ROOFLINE_TRY(auto table, table_of_file(file, true));
    ROOFLINE_TRY(const auto slice, resolve_slice(request.machines.front(), request.sets));
    ROOFLINE_TRY(const auto config, resolve_config(request.config));
    ROOFLINE_TRY(const auto model, build_model(config, std::nullopt));
    ROOFLINE_TRY(const auto values, LaunchValues::read(file.file.text, file.file.name, std::move(table)));
    const LaunchJob job{slice.chips(), model.layer_count, !routed_experts(model.program).empty(), slices_in(slice)};
    ROOFLINE_TRY(const auto launch, training_launch(values, job));
    notes.push_back(fmt::format("{} is read as {} {}", file.file.name, values.table().title, values.table().version));
    notes.insert(notes.end(), launch.notes.begin(), launch.notes.end());
    ROOFLINE_CHECK(LaunchOptions(request, values.table(), launch, job.chips).set(notes));
    return request;
}

Result<EmittedLaunch> emitted_training(std::string_view framework, const TrainAnswer& answer) {
    ROOFLINE_TRY(const auto table, launch_table(framework, true));
    TrainingLaunch launch;
    launch.plan = answer.plan;
    launch.sequence = answer.model.sequence;
    if (answer.batch) {
        launch.sequence = answer.batch->sequence;
        launch.sequences = answer.batch->tokens / answer.batch->sequence;
        launch.microbatches = answer.batch->microbatches;
    }
    if (!answer.schedule.empty()) {
        ROOFLINE_TRY(launch.schedule, parse_schedule(answer.schedule));
    }
    launch.remat = answer.options;
    launch.optimizer = answer.options;
    launch.optimizer->f32_gradients = answer.options.f32_gradients || answer.held.f32_gradients;
    launch.products = answer.products;
    launch.overlapped = answer.overlapped;
    const LaunchJob job{answer.slice.chips(), answer.model.layer_count, !routed_experts(answer.model.program).empty(),
                        slices_in(answer.slice)};
    const bool fits = !answer.step || answer.step->memory.fits();
    return emit_training(table, launch, job, {answer.model.lora.has_value(), fits});
}

}  // namespace roofline::core
