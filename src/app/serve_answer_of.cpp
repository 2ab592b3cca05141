#include "app/serve_answer_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "app/compute_bound_batch.hpp"
#include "app/expected_op.hpp"
#include "app/expected_serving.hpp"
#include "app/model_option.hpp"
#include "app/serving_slices.hpp"
#include "app/system_option.hpp"
#include "report/op/expected_basis.hpp"
#include "units/text.hpp"

namespace roofline {

namespace {

constexpr std::int64_t most_sequences = std::int64_t{1} << 24;

Result<std::int64_t> count_option(const std::string& word, std::string_view option, std::int64_t otherwise,
                                  std::vector<std::string>& notes) {
    if (word.empty()) {
        notes.push_back(fmt::format("without {} it is {}", option, otherwise));
        return otherwise;
    }
    auto size = parse_size(word);
    if (!size) return fail(size.error().code, fmt::format("{}: {}", option, size.error().message), size.error().hint);
    if (*size >= 1 && *size <= most_sequences) return *size;
    return fail("size", fmt::format("{} is {}: it must be 1 to {}", option, *size, most_sequences));
}

/// Powers of two up to the largest batch, with that and the batch that was asked for.
std::vector<std::int64_t> frontier_batches(const ServeAnswer& answer) {
    std::vector<std::int64_t> batches{answer.batch};
    if (answer.max_batch > 0) batches.push_back(answer.max_batch);
    const std::int64_t last = std::max(answer.max_batch, answer.batch);
    for (std::int64_t batch = prompts_at_once(answer.plan) * answer.plan.pipeline; batch < last; batch *= 2) {
        batches.push_back(batch);
    }
    std::sort(batches.begin(), batches.end());
    batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
    return batches;
}

/// Tokens of a chunk of a long prompt: what vLLM (max_num_batched_tokens, H100) and SGLang (chunked_prefill_size) take by default.
constexpr std::int64_t prefill_chunk = 8192;

class Serve {
public:
    explicit Serve(const ServeRequest& request) : request_(request) {}

    Result<ServeAnswer> run() {
        if (auto status = read(); !status) return fail(status.error());
        if (auto status = choose_plan(); !status) return fail(status.error());
        if (auto status = details(); !status) return fail(status.error());
        return std::move(answer_);
    }

private:
    Status read() {
        auto prompt = count_option(request_.prompt, "--prompt", 1024, answer_.notes);
        if (!prompt) return fail(prompt.error());
        auto output = count_option(request_.output, "--output", 256, answer_.notes);
        if (!output) return fail(output.error());
        auto batch = count_option(request_.batch, "--batch", 1, answer_.notes);
        if (!batch) return fail(batch.error());
        // said beside the activations, where it makes a difference
        std::vector<std::string> unsaid;
        auto chunk = count_option(request_.chunk, "--chunk", prefill_chunk, unsaid);
        if (!chunk) return fail(chunk.error());
        answer_.chunk = *chunk;
        answer_.prompt = *prompt;
        answer_.output = *output;
        answer_.batch = *batch;
        answer_.disaggregated = request_.disaggregated;
        answer_.context = (2 * *prompt + *output + 1) / 2;
        if (auto status = read_model(); !status) return status;
        std::vector<std::string> sets = request_.sets;
        if (!request_.price.empty()) sets.push_back("price=" + request_.price);
        auto slice = resolve_slice(request_.machines.front(), sets);
        if (!slice) return fail(slice.error());
        answer_.slice = std::move(*slice);
        answer_.machine_id = request_.machines.front().name.substr(0, request_.machines.front().name.find(':'));
        answer_.notes.insert(answer_.notes.end(), answer_.slice.notes.begin(), answer_.slice.notes.end());
        if (const MemoryLevel* memory = answer_.slice.machine.level("hbm")) {
            if (memory->total_capacity()) answer_.capacity = memory->total_capacity()->value;
        }
        auto calibrations = resolve_calibrations(request_.calibration, request_.machines);
        if (!calibrations) return fail(calibrations.error());
        calibrations_ = std::make_shared<Calibrations>(std::move(*calibrations));
        return {};
    }

    Status read_model() {
        auto kv_dtype = dtype_option(request_.kv_dtype, "--kv-dtype");
        if (!kv_dtype) return fail(kv_dtype.error());
        auto all = dtype_option(request_.weights, "--weights");
        if (!all) return fail(all.error());
        auto config = resolve_config(request_.config);
        if (!config) return fail(config.error());
        answer_.kv_dtype = kv_dtype->value_or(Dtype::bf16);
        if (auto status = store(*config, *all); !status) return status;
        const std::int64_t tokens = answer_.prompt + answer_.output;
        if (answer_.model.context > 0 && tokens > answer_.model.context) {
            return fail("bad_request",
                        fmt::format("{} tokens in and {} out are {}, beyond the model's context of {}", answer_.prompt,
                                    answer_.output, tokens, answer_.model.context),
                        "shorten --prompt or --output, or change the context in the configuration");
        }
        return {};
    }

    Status store(const Config& config, std::optional<Dtype> all) {
        std::optional<Quantisation> quantisation;
        if (!all) {
            auto read = quantisation_of(config, nullptr);
            if (!read) return fail(read.error());
            quantisation = std::move(*read);
        }
        if (quantisation && quantisation->kv_is_fp8 && request_.kv_dtype.empty()) answer_.kv_dtype = Dtype::fp8;
        for (const bool decoding : {false, true}) {
            auto served = served_model(config, decoding, all, quantisation, answer_.kv_dtype);
            if (!served) return fail(served.error());
            (decoding ? decode_ : prefill_) = std::move(*served);
        }
        answer_.model = prefill_.model;
        answer_.weights = prefill_.weights;
        return {};
    }

    [[nodiscard]] ServingSetup setup() const {
        CollectiveOptions collectives;
        collectives.textbook = request_.textbook;
        const bool server = calibrations_->servers().find(request_.software) != nullptr;
        const std::string kernels =
            server ? kernels_of_server(*calibrations_, answer_.slice.machine, request_.software) : request_.software;
        return {prefill_, decode_, answer_.slice, calibrations_, kernels, collectives};
    }

    [[nodiscard]] ServingPass decode_pass(const Plan& plan, std::int64_t batch) const {
        return {sequences_at_once(plan, batch), 1, answer_.context};
    }
    [[nodiscard]] ServingPass last_pass(std::int64_t batch) const {
        return {batch, 1, answer_.prompt + answer_.output};
    }

    // The plan that was asked for, or the best of those that hold the batch: of all, if none does.
    Status choose_plan() {
        std::vector<Plan> plans;
        if (!request_.mesh.empty()) {
            auto plan = parse_plan(request_.mesh, answer_.slice.chips(), &answer_.notes);
            if (!plan) return fail(plan.error());
            plans.push_back(std::move(*plan));
        } else {
            plans = serving_plans(answer_.model, answer_.slice, answer_.batch);
            answer_.plan_chosen = answer_.slice.chips() > 1;
        }
        std::optional<Error> error;
        bool best_fits = false;
        bool any = false;
        for (const Plan& plan : plans) {
            auto found = best_split(setup(), plan, decode_pass(plan, answer_.batch));
            if (!found) {
                if (!error) error = found.error();
                continue;
            }
            auto prefill = priced_pass(setup(), plan, CacheSplit::heads, prefill_pass(plan, answer_.prompt));
            if (!prefill) {
                if (!error) error = prefill.error();
                continue;
            }
            auto activations = prefill_activations(setup(), plan, answer_.prompt, answer_.chunk, *prefill);
            if (!activations) return fail(activations.error());
            auto memory = memory_of(setup(), plan, found->caches, last_pass(answer_.batch), *activations, found->pass);
            if (!memory) return fail(memory.error());
            const bool fits = !answer_.capacity || memory->total() <= *answer_.capacity;
            const bool better = !any || (fits && !best_fits) ||
                                (fits == best_fits && pass_seconds(found->pass) < pass_seconds(answer_.decode));
            if (!better) continue;
            any = true;
            best_fits = fits;
            prefill_activations_ = *activations;
            take(plan, std::move(*found), std::move(*prefill), *memory);
        }
        if (!any)
            return fail(error.value_or(Error{"unsupported", "no plan for this slice", "name one with --mesh", {}}));
        return {};
    }

    void take(const Plan& plan, SplitPass found, OpAnswer prefill, const ServingMemory& memory) {
        answer_.plan = plan;
        answer_.mesh = found.pass.program.mesh;
        answer_.caches = found.caches;
        answer_.decode = std::move(found.pass);
        answer_.prefill = std::move(prefill);
        answer_.chip_memory = memory;
        answer_.fits = !answer_.capacity || memory.total() <= *answer_.capacity;
    }

    Status details() {
        auto whole = whole_memory(setup(), last_pass(answer_.batch), chunk_pass(Plan{}, answer_.prompt, answer_.chunk));
        if (!whole) return fail(whole.error());
        answer_.slice_memory = *whole;
        if (auto status = find_max_batch(); !status) return status;
        load();
        if (auto status = steps(); !status) return status;
        if (auto status = frontier(); !status) return status;
        for (auto [pass, least] :
             {std::pair(&answer_.prefill, &answer_.least_prefill), std::pair(&answer_.decode, &answer_.least_decode)}) {
            auto found = least_pass(*pass);
            if (!found) return fail(found.error());
            *least = std::move(*found);
        }
        answer_.compute_bound_known = !has_experts(answer_.model.program);
        if (!answer_.compute_bound_known) {
            answer_.notes.emplace_back(
                "`lower` is the least that any routing does: tokens all choose the same experts, which reads the "
                "fewest, "
                "or each those on its own chip, which sends nothing; `uniform` is the bound where they choose "
                "independently of each other, all alike likely, and a token is sent once to each chip, between nodes "
                "once "
                "to each node, that has one of them; all other times rest on that choice too, `no overlap` and "
                "`expected` "
                "with the copies that software sends");
        }
        answer_.compute_bound = compute_bound_batch(answer_.model, answer_.weights, answer_.decode);
        // solved for the sequences of one stage
        const auto groups = static_cast<double>(answer_.plan.pipeline);
        for (auto* batch :
             {&answer_.compute_bound.step, &answer_.compute_bound.weights, &answer_.compute_bound.textbook}) {
            if (*batch) **batch *= groups;
        }
        // by heart it is that of one copy of the weights, and each member of `data` has one
        if (auto& textbook = answer_.compute_bound.textbook) *textbook *= static_cast<double>(answer_.plan.data);
        if (answer_.capacity) {
            auto smallest =
                smallest_slice(setup(), answer_.machine_id, answer_.prompt, answer_.chunk, last_pass(answer_.batch));
            if (!smallest) return fail(smallest.error());
            answer_.smallest = std::move(*smallest);
        }
        return {};
    }

    // Of a server that is known, where everything in a pass is calibrated; each of `batch` requests is followed by others.
    void load() {
        const ServerLaws& servers = calibrations_->servers();
        const CalibratedServer* server = servers.find(request_.software);
        if (server == nullptr) server = servers.find("");
        if (server == nullptr || answer_.disaggregated || !answer_.fits || !calibrated(answer_)) return;
        const auto passes = ExpectedServing::make(setup(), answer_.plan, decode_pass(answer_.plan, answer_.batch));
        if (!passes) return;
        const RequestSize size{static_cast<double>(answer_.prompt), static_cast<double>(answer_.output)};
        const double room =
            answer_.capacity ? static_cast<double>(answer_.max_batch) : static_cast<double>(answer_.batch);
        const ServingLoad load = serving_load(size, static_cast<double>(answer_.batch), room);
        if (load.requests < answer_.batch) return;
        const ServingTimes times = serving_times(load, serving_costs(*passes, server->law, size, load.requests));
        answer_.under_load =
            ServedLoad{server->software,   std::hypot(server->error_held_out, error_beyond_measured(answer_.decode)),
                       times.later_ttft_s, times.tpot_s,
                       times.running,      times.requests_per_s * size.output};
    }

    // Memory only grows with the batch.
    Status find_max_batch() {
        if (!answer_.capacity) return {};
        const auto holds = [&](std::int64_t batch) -> Result<bool> {
            auto memory = memory_of(setup(), answer_.plan, answer_.caches, last_pass(batch), prefill_activations_,
                                    answer_.decode);
            if (!memory) return fail(memory.error());
            return memory->total() <= *answer_.capacity;
        };
        std::int64_t low = 0;
        std::int64_t high = 1;
        while (high <= most_sequences) {
            auto fits = holds(high);
            if (!fits) return fail(fits.error());
            if (!*fits) break;
            low = high;
            high *= 2;
        }
        while (high - low > 1) {
            const std::int64_t middle = low + (high - low) / 2;
            auto fits = holds(middle);
            if (!fits) return fail(fits.error());
            (*fits ? low : high) = middle;
        }
        answer_.max_batch = low;
        return {};
    }

    Status steps() {
        const std::int64_t together = sequences_at_once(answer_.plan, answer_.batch);
        auto first = priced_pass(setup(), answer_.plan, answer_.caches, {together, 1, answer_.prompt + 1});
        if (!first) return fail(first.error());
        auto last = priced_pass(setup(), answer_.plan, answer_.caches, {together, 1, answer_.prompt + answer_.output});
        if (!last) return fail(last.error());
        answer_.first_step_s = pass_seconds(*first);
        answer_.last_step_s = pass_seconds(*last);
        return {};
    }

    Status frontier() {
        double best = 0;
        for (const std::int64_t batch : frontier_batches(answer_)) {
            auto pass = batch == answer_.batch ? Result<SplitPass>(SplitPass{answer_.caches, answer_.decode})
                                               : best_split(setup(), answer_.plan, decode_pass(answer_.plan, batch));
            if (!pass) return fail(pass.error());
            const OpAnswer& step = pass->pass;
            const auto least = least_pass(step);
            if (!least) return fail(least.error());
            ServePoint point{batch, least->lower_s, pass_seconds(step), 0, bound_label(step)};
            point.uniform_lower_s = step.analysis.total.bounds.lower;
            point.tokens_per_s = static_cast<double>(batch) / point.tpot_s;
            if (point.tokens_per_s / point.tpot_s > best) {
                best = point.tokens_per_s / point.tpot_s;
                answer_.knee = answer_.frontier.size();
            }
            answer_.frontier.push_back(std::move(point));
        }
        return {};
    }

    const ServeRequest& request_;
    double prefill_activations_ = 0;  ///< bytes, in the plan of the answer
    ServeAnswer answer_;
    ServedModel prefill_;
    ServedModel decode_;
    std::shared_ptr<Calibrations> calibrations_;
};

}  // namespace

Result<ServeAnswer> serve_answer_of(const ServeRequest& request) { return Serve(request).run(); }

}  // namespace roofline
