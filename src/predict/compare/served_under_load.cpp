#include "predict/compare/served_under_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/ascii.hpp"
#include "model/presets.hpp"
#include "plan/serving_capacity.hpp"
#include "predict/expect.hpp"
#include "predict/serve/compute_bound_batch.hpp"
#include "predict/serve/serve.hpp"
#include "predict/serve/serving_costs.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t most_whole = 1'000'000'000;

/// Returns the dtype of the weights; empty for that of the checkpoint. A table's fp4 has a scale per block of 16,
/// because no server uses it without.
Result<std::optional<Dtype>> weights_of(const MeasuredServing& row) {
    if (row.dtype.empty() || row.dtype == "?") return std::optional<Dtype>{};
    auto dtype = find_dtype(row.dtype);
    if (!dtype) return fail("unknown_dtype", fmt::format("the dtype {} is not known", in_ticks(row.dtype)));
    return std::optional<Dtype>{*dtype == Dtype::fp4 ? Dtype::nvfp4 : *dtype};
}

Result<Dtype> caches_of(const MeasuredServing& row, const std::optional<Dtype>& weights) {
    if (row.kv_dtype.empty()) return weights && info(*weights).bits <= 8 ? Dtype::fp8 : Dtype::bf16;
    if (const auto dtype = find_dtype(row.kv_dtype)) return *dtype;
    return fail("unknown_dtype", fmt::format("the dtype {} is not known", in_ticks(row.kv_dtype)));
}

// Members of data parallelism do not each have a copy of all experts: where a table names no degree for these, they
// are taken to be spread over all chips.
Result<Plan> plan_of(const ServingWorker& worker, std::int64_t chips, bool experts) {
    Plan plan;
    plan.tensor = worker.tensor;
    plan.data = worker.data;
    plan.pipeline = worker.pipeline;
    const bool spread = experts && worker.data > 1 && worker.expert == 1;
    if (plan.chips() == chips) return with_experts_on_same_chips(plan, spread ? chips : worker.expert);
    return fail("no_plan", fmt::format("{} is not the {} chips of a worker", worker.text(), chips));
}

std::int64_t whole(double value) {
    return static_cast<std::int64_t>(std::clamp(std::round(value), 1.0, static_cast<double>(most_whole)));
}

// Simulates the load of a row; on aggregated workers the part of one of them.
ServingRun driven(const MeasuredServing& row, ServingPools pools) {
    const auto workers = row.disaggregated ? 1.0 : static_cast<double>(row.decode_workers);
    const RequestLengths lengths = row.drive.lengths.value_or(typical_lengths({row.prompt, row.output}));
    const auto part = [&](double requests) { return std::min(whole(requests / workers), max_requests); };
    const std::int64_t count = row.drive.requests > 0 ? part(static_cast<double>(row.drive.requests)) : 0;
    if (row.drive.rate > 0 && count > 0) {
        if (row.concurrency) pools.prompts.limits.sequences = part(*row.concurrency);
        return simulate_rate(lengths, row.drive.rate / workers, count, pools);
    }
    if (row.drive.at_once) return simulate_concurrency(lengths, count, count, pools);
    // without a limit, as many requests run as fit
    const ServerPool& decode = pools.decode ? *pools.decode : pools.prompts;
    const auto held = static_cast<double>(decode.limits.held(whole(row.prompt + row.output)));
    const auto fit =
        std::floor(static_cast<double>(decode.limits.cache_tokens) / held) * static_cast<double>(row.decode_workers);
    return simulate_concurrency(lengths, part(row.concurrency.value_or(fit)), count, pools);
}

}  // namespace

Result<const ServedUnderLoad::Served*> ServedUnderLoad::served(const MeasuredServing& row, MeasuredSystems& systems,
                                                               const ModelNames& names) {
    const std::string prefill =
        row.disaggregated ? fmt::format(" beside {} of {}", row.prefill_worker.text(), row.prefill_chips) : "";
    const Key key{row.system, lowered(row.model), row.dtype + " " + row.kv_dtype,
                  fmt::format("{} of {}{}", row.worker.text(), row.decode_chips, prefill), row.software};
    constexpr std::size_t most = 400;  // tables of real measurements have about a hundred, and each takes some memory
    auto found = served_.find(key);
    if (found == served_.end() && served_.size() >= most) {
        return fail("too_many_systems", "the table has more than 400 models, systems and dtypes together");
    }
    if (found == served_.end()) found = served_.emplace(key, make(row, systems, names)).first;
    if (!found->second) return fail(found->second.error());
    return found->second->get();
}

Result<ServedUnderLoad::Worker> ServedUnderLoad::worker_of(const MeasuredServing& row, const ServingWorker& degrees,
                                                           std::int64_t chips, const ServedModel& model,
                                                           MeasuredSystems& systems) const {
    ROOFLINE_TRY(auto plan, plan_of(degrees, chips, has_experts(model.model.program)));
    const Result<MeasuredSystem>& system = systems.slice_of(row.system, chips);
    if (!system) return fail(system.error());
    Worker worker{system->system.slice, plan};
    const MemoryLevel* const memory = worker.slice.machine.level("hbm");
    if (memory == nullptr || !memory->total_capacity()) return worker;
    worker.capacity = memory->total_capacity()->value;
    const ServingSetup setup{model, model, worker.slice, calibrations_, {}, {}};
    ROOFLINE_TRY(const auto kept,
                 kept_memory(setup, plan, CacheSplit::heads, decode_pass(prompts_at_once(plan), 1), true));
    if (kept.weights > worker.capacity) {
        return fail("does_not_fit", "the weights do not fit on the chips of a worker");
    }
    // servers leave room for the largest pass that they accept, whatever their prompts are
    ROOFLINE_TRY(const auto chunk,
                 priced_pass(setup, plan, CacheSplit::heads, chunk_pass(plan, prefill_chunk, prefill_chunk)));
    ROOFLINE_TRY(worker.activations, prefill_activations(setup, plan, prefill_chunk, prefill_chunk, chunk));
    return worker;
}

Result<std::unique_ptr<ServedUnderLoad::Served>> ServedUnderLoad::make(const MeasuredServing& row,
                                                                       MeasuredSystems& systems,
                                                                       const ModelNames& names) const {
    auto config = preset_config(names.preset_of(row.model));
    if (!config) return fail("unknown_model", fmt::format("the model {} is not known", in_ticks(row.model)));
    ROOFLINE_TRY(auto weights, weights_of(row));
    ROOFLINE_TRY(auto caches, caches_of(row, weights));
    ROOFLINE_TRY(auto quantisation, quantisation_of(*config, nullptr));
    if (weights) {
        ROOFLINE_TRY(const auto model, build_model(*config, 1, true));
        quantisation = usual_quantisation(quantisation, *weights, has_experts(model.program));
        if (quantisation) weights.reset();
    }
    auto result = std::make_unique<Served>();
    for (const bool decoding : {false, true}) {
        ROOFLINE_TRY(auto model, served_model(*config, decoding, weights, quantisation, caches));
        (decoding ? result->decode : result->prefill) = std::move(model);
    }
    ROOFLINE_TRY(result->worker, worker_of(row, row.worker, row.decode_chips, result->prefill, systems));
    if (row.disaggregated) {
        ROOFLINE_TRY(result->prefills, worker_of(row, row.prefill_worker, row.prefill_chips, result->prefill, systems));
    }
    const ServingSetup setup = setup_of(*result, result->worker, row.software);
    const Plan& plan = result->worker.plan;
    const RequestSize size{row.prompt, row.output};
    const ServingPass typical = decode_pass(prompts_at_once(plan) * 32, whole(size.context()));
    const Worker& prefills = result->prefills ? *result->prefills : result->worker;
    const ServingSetup prefill_setup = setup_of(*result, prefills, row.software);
    ROOFLINE_TRY(auto passes, ExpectedServing::make({prefill_setup, prefills.plan}, {setup, plan}, typical));
    result->passes = std::make_unique<ExpectedServing>(std::move(passes));
    if (result->prefills) {
        ROOFLINE_TRY(result->transfer, cache_transfer({prefill_setup, prefills.plan}, {setup, plan}, CacheSplit::heads,
                                                      whole(row.prompt)));
    }
    return result;
}

ServingSetup ServedUnderLoad::setup_of(const Served& served, const Worker& worker, const std::string& software) const {
    ServingSetup setup{served.prefill,
                       served.decode,
                       worker.slice,
                       calibrations_,
                       server_kernel_software(*calibrations_, worker.slice.machine, software),
                       {}};
    setup.exchange = built_in_exchanges().of_server(software, worker.slice);
    return setup;
}

// What a worker has room for, at least one request of so many tokens.
ServerLimits ServedUnderLoad::limits(const Served& served, const Worker& worker, const MeasuredServing& row,
                                     double tokens) const {
    constexpr double plenty = 1e12;
    const std::int64_t members = prompts_at_once(worker.plan);
    const MemoryChoice choice{built_in_server_memories().find(row.software), row.drive.memory_fraction};
    const MemoryRule rule = choice.on({worker.capacity, worker.slice.chips(), worker.plan.pipeline, members});
    if (!(worker.capacity > 0)) return serving_limits(plenty, rule.block);
    const std::int64_t each = in_blocks(whole(tokens), rule.block);
    const auto kept = kept_memory(setup_of(served, worker, row.software), worker.plan, CacheSplit::heads,
                                  decode_pass(members, each), true);
    if (!kept || !(kept->kv > 0)) return serving_limits(plenty, rule.block);
    // A server that was measured had room: where its usual fraction leaves none, it was given more.
    double left = cache_room(rule, worker.capacity, kept->weights, worker.activations);
    if (left * static_cast<double>(members) < kept->kv) {
        left = cache_room(MemoryRule{}, worker.capacity, kept->weights, worker.activations);
    }
    const double most = left / kept->kv * static_cast<double>(members * each);
    return serving_limits(std::clamp(most, static_cast<double>(each), plenty), rule.block);
}

Result<ServingTimes> ServedUnderLoad::times(const MeasuredServing& row, MeasuredSystems& systems,
                                            const ModelNames& names) {
    if (row.decode_workers < 1 || (row.disaggregated && row.prefill_workers < 1)) {
        return fail("missing", "the row does not say how many workers there are");
    }
    if (row.disaggregated &&
        row.prefill_workers * row.prefill_chips + row.decode_workers * row.decode_chips != row.chips) {
        return fail("no_plan", "the workers together are not the chips of the deployment");
    }
    ROOFLINE_TRY(auto found, served(row, systems, names));
    const Served& served = *found;
    const CalibratedServer* const server = server_of(row.software, platform_of(served.worker.slice.machine));
    if (server == nullptr) return fail("not_calibrated", fmt::format("{} has no constants", in_ticks(row.software)));
    const RequestSize size{row.prompt, row.output};
    const ServingCosts costs = serving_costs(*served.passes, server->costs, size);
    ServingPools pools{{limits(served, served.worker, row, row.prompt + row.output), costs}};
    if (served.prefills) {
        pools.decode = {pools.prompts.limits, costs, std::min(row.decode_workers, max_servers)};
        pools.prompts.servers = std::min(row.prefill_workers, max_servers);
        pools.prompts.limits = limits(served, *served.prefills, row, row.prompt);
        pools.transfer_s = [&](double tokens) {
            return served.transfer->exposed_s(tokens, costs.lone_prompt_s(tokens));
        };
    }
    pools.prompts.limits.members = whole(served.passes->members());
    if (row.drive.chunk > 0) pools.prompts.limits.prompt_tokens = row.drive.chunk;
    if (row.drive.prompts_first) pools.prompts.limits.schedule = PromptSchedule::prefill_first;
    ServingTimes times = serving_times(driven(row, pools));
    if (row.drive.first_tokens_alone) {
        MeasuredServing alone = row;
        alone.output = 1;
        alone.drive.lengths = row.drive.lengths.value_or(typical_lengths(size));
        alone.drive.lengths->output = LengthDistribution{};
        times.all_ttft_s = serving_times(driven(alone, pools)).all_ttft_s;
    }
    return times;
}

Result<ServerSample> ServedUnderLoad::sample(const MeasuredServing& row, MeasuredSystems& systems,
                                             const ModelNames& names) {
    // the time of a whole batch, its prompts included, says as much as one per output token
    const bool of_batch = !row.tpot_s && !row.ttft_s && row.tokens_per_s && row.concurrency;
    const auto decoding = of_batch ? row.concurrency : row.decoding();
    if (!decoding || !(row.tpot_s || of_batch) || row.decode_workers < 1) {
        return fail("missing", "the row does not say how many sequences were decoded at a time");
    }
    if (row.software.empty()) return fail("missing", "the row does not say which server it was");
    if (row.disaggregated) return fail("unsupported", "prompts go in elsewhere");
    ROOFLINE_TRY(auto found, served(row, systems, names));
    const ExpectedServing& passes = *(found)->passes;
    const RequestSize size{row.prompt, row.output};
    ServerSample sample;
    sample.software = row.software;
    sample.model = names.preset_of(row.model);
    sample.machine = row.system;
    sample.platform = platform_of(found->worker.slice.machine);
    sample.source = row.source;
    sample.sequences = std::max(1.0, *decoding / static_cast<double>(row.decode_workers));
    sample.output = row.output;
    sample.kernels = passes.decode(sample.sequences, size.context());
    sample.members = passes.decode_members();
    sample.prompt_s = passes.prompts_s(passes.members(), row.prompt);
    sample.launches = passes.launches();
    sample.measured_s = of_batch ? *row.concurrency / *row.tokens_per_s : *row.tpot_s;
    return sample;
}

}  // namespace roofline::core
