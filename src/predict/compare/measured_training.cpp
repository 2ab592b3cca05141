#include "predict/compare/measured_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/ascii.hpp"
#include "model/account.hpp"
#include "model/machine_dtype.hpp"
#include "predict/expect.hpp"
#include "predict/train/framework.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t max_cached = 10'000;  // tables of real measurements have a few hundred of each

/// Reads how the replicas of a row shard parameters, gradients and optimizer states.
Status read_sharding(const MeasuredTraining& row, std::int64_t replicas, Plan& plan) {
    if (holds(row.sharding, "hsdp")) {
        return fail("no_plan", "parameters are sharded over some of the replicas, but the table does not say which");
    }
    const bool whole = holds(row.sharding, "fsdp") || holds(row.sharding, "zero3");
    if (row.data_over_slices) {
        if (row.slices == 0 || replicas % row.slices != 0) {
            return fail("no_plan", "fsdp within slices, but the table does not give the number of slices");
        }
        plan.data = row.slices;
        plan.fsdp = replicas / row.slices;
        return {};
    }
    // In a pipeline FSDP keeps the gathered weights for all micro-batches and reduce-scatters gradients at the end of
    // the step.
    const bool gathered = whole && plan.pipeline > 1;
    (whole && !gathered ? plan.fsdp : plan.data) = replicas;
    if (whole) plan.zero = gathered ? 1 : 3;
    if (holds(row.sharding, "zero1")) plan.zero = 1;
    if (holds(row.sharding, "zero2")) plan.zero = 2;
    return {};
}

Result<Plan> plan_of(const MeasuredTraining& row) {
    const auto or_one = [](std::int64_t ways) { return std::max(ways, std::int64_t{1}); };
    Plan plan;
    std::int64_t replicas = row.data;
    // FSDP takes the chips that other axes leave
    if (row.data == 0 && row.pipeline == 0 && row.sharding.starts_with("fsdp")) {
        replicas = row.chips / (or_one(row.tensor) * or_one(row.context));
    } else if (row.data == 0 || row.tensor == 0 || row.pipeline == 0) {
        return fail("no_plan", "the plan is incomplete: dp, tp or pp is empty");
    }
    plan.tensor = or_one(row.tensor);
    plan.pipeline = or_one(row.pipeline);
    (row.exchanged_heads ? plan.sequence : plan.context) = or_one(row.context);
    plan.expert = or_one(row.expert);
    plan.tensor_tokens = !row.whole_tokens;
    if (row.expert_tensor > 1 && row.expert_tensor != plan.tensor) {
        return fail("no_plan", "experts are split by columns otherwise than attention, which no plan can express");
    }
    if (row.expert_tensor == 1 && plan.tensor > 1 && plan.expert > 1) {
        const std::int64_t degree = std::exchange(plan.expert, 1);
        ROOFLINE_CHECK(read_sharding(row, replicas, plan));
        ROOFLINE_TRY(plan, with_experts_on_same_chips(std::move(plan), degree));
        if (plan.chips() != row.chips) return fail("no_plan", "dp, tp, pp and cp do not multiply to n_accel");
        return plan;
    }
    if (replicas % plan.expert != 0) {
        return fail("no_plan", "experts are spread over more chips than there are replicas, which no plan can express");
    }
    ROOFLINE_CHECK(read_sharding(row, replicas / plan.expert, plan));
    if (plan.chips() != row.chips) {
        return fail("no_plan", "dp, tp, pp and cp do not multiply to n_accel");
    }
    return plan;
}

/// Returns the micro-batches of a step. If their number is unknown, a replica processes all its sequences at once, or
/// in a pipeline one at a time. With `chip_batch` what the row calls a micro-batch is the batch of a chip.
Result<TrainingBatch> batch_of(const MeasuredTraining& row, const Plan& plan, bool chip_batch) {
    const std::int64_t replicas = plan.data * plan.fsdp * plan.expert;
    TrainingBatch batch;
    batch.sequence = row.sequence;
    batch.microbatches = row.microbatches;
    const std::int64_t micro_batch = chip_batch ? 0 : row.micro_batch;
    std::int64_t sequences = row.sequences;
    if (sequences == 0) sequences = replicas * row.micro_batch * row.microbatches;
    const bool split = micro_batch > 0 && !row.local_batch;
    if (batch.microbatches == 0 && split) {
        batch.microbatches = sequences / (replicas * micro_batch);
        if (batch.microbatches * replicas * micro_batch != sequences) {
            return fail("bad_batch", "the batch is not a multiple of dp and micro_batch");
        }
    }
    if (batch.microbatches == 0 && row.local_batch) {
        batch.microbatches = plan.pipeline;  // by default as many as stages
    } else if (batch.microbatches == 0) {
        batch.microbatches = plan.pipeline > 1 ? std::max(sequences / replicas, std::int64_t{1}) : 1;
    }
    constexpr std::int64_t most = std::int64_t{1} << 50;
    if (sequences > most / row.sequence) return fail("bad_batch", "the batch is beyond 1e15 tokens");
    batch.tokens = sequences * row.sequence;
    ROOFLINE_CHECK(check_batch(batch, {replicas, plan.sequence * plan.context}));
    return batch;
}

/// Recomputation that is certain.
Result<TrainingOptions> options_of(const MeasuredTraining& row, const TrainerHabits& habits) {
    TrainingOptions options;
    const std::string& said = row.policy.empty() ? row.recompute : row.policy;
    const auto policy = std::find_if(habits.policies.begin(), habits.policies.end(),
                                     [&](const auto& each) { return each.first == said; });
    options.input_gradients = false;
    if (policy != habits.policies.end() || !row.remat.empty()) {
        ROOFLINE_TRY(const auto named, remat_options(row.remat.empty() ? policy->second : row.remat));
        options.remat = named.remat;
        options.kept = named.kept;
        return options;
    }
    if (row.recompute == "full") options.remat = Remat::full;
    if (row.recompute == "selective") options.remat = selective_remat(habits);
    options.keep_unread = row.eager && row.recompute == "selective";
    return options;
}

/// Returns the dtype of matmuls with parameters if it is narrower than the stored dtype: "fp8" for "fp8-cs".
Result<std::optional<Dtype>> products_of(const MeasuredTraining& row) {
    if (row.dtype.empty()) return std::nullopt;
    const auto dtype = find_dtype(row.dtype.substr(0, row.dtype.find_first_of("-+ ")));
    if (!dtype) return fail("unknown_dtype", fmt::format("the dtype `{}` is not known", row.dtype.substr(0, 40)));
    constexpr int stored_bits = 16;
    return info(*dtype).bits < stored_bits ? dtype : std::nullopt;
}

// Returns the number of experts of a layer; 0 for a dense model.
std::int64_t experts_of(const Model& model) {
    for (const auto& [dimension, role] : model.roles) {
        const auto size = model.program.sizes.find(dimension);
        if (role == "experts" && size != model.program.sizes.end()) return size->second;
    }
    return 0;
}

// Checks that a model has as many parameters as its row says.
Status check_params(const MeasuredTraining& row, const Model& model) {
    if (!(row.params > 0)) return {};
    ROOFLINE_TRY(const auto counts, count_model(model));
    const double params = counts.total.params.to_double();
    constexpr double rounded = 0.06;  // tables round 7.3 G to 7, and some count MTP layers
    if (std::abs(params - row.params) > rounded * params) {
        return fail("other_size", fmt::format("the sizes of `{}` give {:.4g} G parameters, but the row says {:.4g} G",
                                              row.model.substr(0, 60), params / 1e9, row.params / 1e9));
    }
    return {};
}

// Pairs the memory that a device held with the prediction of the same kind of memory.
MemoryComparison memory_of(const MeasuredTraining& row, const TrainerHabits& habits, const TrainingMemory& memory,
                           double reserved) {
    constexpr double gib = 1.073741824;
    MemoryComparison compared{row.memory_bytes * (habits.gib && !row.memory_in_gib ? gib : 1), 0,
                              row.memory_what.empty() ? habits.memory : row.memory_what};
    compared.predicted = reported_bytes(memory, compared.what, habits, reserved);
    // an allocator at the capacity limit returns free blocks; some rows come from chips of the same name with more
    // memory
    if (memory.fits() && memory.capacity && compared.measured <= *memory.capacity) {
        compared.predicted = std::min(compared.predicted, *memory.capacity);
    }
    return compared;
}

std::string key_of(const TrainSetup& setup) {
    const FrameworkHabits& habits = setup.habits;
    const std::array flags = {
        setup.held.f32_gradients,  setup.held.f32_logits,  setup.held.stored_casts, setup.options.unfused,
        setup.options.keep_unread, setup.late_layers,      habits.fsdp_units,       habits.pipeline_buffers,
        habits.flat_optimizer,     habits.fused_gradients, habits.copied_norm,      setup.stored_attention,
        setup.pytorch_kernels,     setup.compiled,         setup.gradients_in_turn, setup.attention_dropout,
        setup.options.whole_layers};
    return fmt::format("{} zero{} {} {} {} {} {} {} {} {} {} {} {} {}", plan_text(setup.plan), setup.plan.zero,
                       setup.plan.tensor_tokens, setup.capacity, setup.batch.tokens, setup.batch.microbatches,
                       static_cast<int>(setup.options.remat), fmt::join(setup.options.kept, ","),
                       setup.products ? name(*setup.products) : "", habits.loss_parts, fmt::join(flags, ""),
                       fmt::join(setup.overlapped, ","), schedule_text(setup.schedule),
                       setup.held.kept_products ? name(*setup.held.kept_products) : "");
}

/// Returns the seconds of a step whose only figure is the rate of the model's FLOPs, by the publisher's convention.
/// Error: the convention is not known.
Result<double> seconds_by_rate(const MeasuredTraining& row, const TrainerHabits& habits, const Model& model,
                               std::int64_t tokens) {
    if (habits.flops.empty()) {
        return fail("no_time", "only a rate in FLOP/s is given, and how its publisher counts FLOPs is unknown");
    }
    ROOFLINE_TRY(const auto counts, count_model(model));
    double flops = counts.total.training.to_double();
    // counted once more, attention has no mask: forward, and twice as much backward
    if (habits.flops == "full") flops += 3 * counts.total.attention.to_double();
    return flops * static_cast<double>(tokens) / (row.model_flops * static_cast<double>(row.chips));
}

/// Returns the row with what its publisher's recipe says where the row does not.
MeasuredTraining with_recipe(MeasuredTraining row, const Recipe& recipe) {
    const bool vague = row.policy.empty() || row.policy == "unknown" || row.policy == "selective";
    if (vague) row.remat = recipe.remat;
    if (row.sharding.empty() && row.data == 0) row.sharding = recipe.sharding;
    row.capacity = recipe.capacity;
    return row;
}

std::string strategy_of(const Plan& plan) {
    std::vector<std::string> parts;
    for (const auto& [axis, ways] : plan_axes(plan)) {
        if (ways > 1) parts.emplace_back(axis);
    }
    if (plan.zero > 0 && plan.data > 1) parts.push_back(fmt::format("zero{}", plan.zero));
    std::sort(parts.begin(), parts.end());
    return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

Result<TrainSetup> setup_of(const MeasuredTraining& row, const TrainerHabits& habits) {
    TrainSetup setup;
    ROOFLINE_TRY(auto plan, plan_of(row));
    ROOFLINE_TRY(auto batch, batch_of(row, plan, habits.chip_batch));
    setup.plan = std::move(plan);
    setup.batch = batch;
    ROOFLINE_TRY(setup.options, options_of(row, habits));
    apply_habits(habits, setup);
    if (row.capacity > 0) setup.capacity = row.capacity;
    setup.gradients_in_turn = setup.gradients_in_turn || row.in_turn;
    for (const std::string& axis : row.overlapped) {
        if (!has(setup.overlapped, axis)) setup.overlapped.push_back(axis);
    }
    const bool gathered = setup.plan.pipeline > 1 && holds(row.sharding, "fsdp");
    setup.held.f32_gradients = setup.held.f32_gradients || row.f32_gradients || gathered;
    ROOFLINE_TRY(setup.products, products_of(row));
    if (setup.plan.pipeline > 1 && row.chunks > 1) {
        setup.schedule.schedule = Schedule::interleaved;
        setup.schedule.chunks = row.chunks;
    }
    return setup;
}

Result<MeasuredTrainingRuns> MeasuredTrainingRuns::make(MeasuredSystems systems, Calibrations calibrations) {
    ROOFLINE_TRY(auto models, TrainedModels::built_in());
    ROOFLINE_TRY(const auto step_model, built_in_step_model());
    return MeasuredTrainingRuns(
        std::move(systems), std::move(models),
        {std::make_shared<Calibrations>(std::move(calibrations)), "", false, false, step_model});
}

Result<Model> MeasuredTrainingRuns::build(const MeasuredTraining& row) const {
    ROOFLINE_TRY(auto config, models_.config(row));
    auto model = build_model(config, row.sequence);
    if (model && row.experts > 0 && row.experts != experts_of(*model)) {
        return fail("other_size", fmt::format("the row says {} experts, but `{}` has {}", row.experts,
                                              row.model.substr(0, 60), experts_of(*model)));
    }
    if (model) ROOFLINE_CHECK(check_params(row, *model));
    if (!model || !row.lora) return model;
    ROOFLINE_TRY(const auto products, products_of(row));
    ROOFLINE_TRY(const auto adapters, models_.adapters(row, products));
    return with_lora(std::move(*model), adapters.options);
}

const Result<Model>& MeasuredTrainingRuns::model(const MeasuredTraining& row) {
    const std::string key =
        fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", lowered(row.model), row.params, row.layers, row.hidden,
                    row.ffn, row.heads, row.kv_heads, row.vocab, row.sequence, row.experts, row.expert_ffn,
                    row.lora ? fmt::format("{} {}", row.source, row.dtype) : "");
    auto found = built_.find(key);
    if (found == built_.end() && built_.size() >= max_cached) {
        static const Result<Model> too_many = fail("too_many_models", "the table has more than 10000 models");
        return too_many;
    }
    if (found == built_.end()) found = built_.emplace(key, build(row)).first;
    return found->second;
}

Result<MeasuredTrainingRuns::Priced> MeasuredTrainingRuns::price(const MeasuredTraining& row, const Model& model,
                                                                 const TrainSetup& setup,
                                                                 const MeasuredSystem& system) {
    if (setup.plan.pipeline > model.layer_count) return fail("bad_plan", "the pipeline has more stages than layers");
    const Key key{fmt::format("{} {}", static_cast<const void*>(&model), row.sequence), system.slice(), key_of(setup)};
    const auto found = priced_.find(key);
    if (found != priced_.end()) return found->second;
    std::vector<std::string> notes;
    Model there = model;
    use_sixteen_bits_of(system.system.machine(), there);
    auto step = train_step(there, setup, system.system.slice, pricing_, notes);
    Result<Priced> priced = fail("", "");
    if (step) {
        priced = Priced{step->times, step->memory};
    } else {
        priced = fail(step.error());
    }
    if (priced_.size() < max_cached) priced_.emplace(key, priced);
    return priced;
}

std::string MeasuredTrainingRuns::why_memory_skipped(const MeasuredTraining& row) const {
    if (!(row.memory_bytes > 0)) return "";
    const std::vector<std::string> unsaid = models_.trainers().habits(row.source, row.table, row.notes).unsaid;
    if (std::find(unsaid.begin(), unsaid.end(), row.recompute) == unsaid.end()) return "";
    return fmt::format("it is not published what {} keeps with recompute `{}`", row.source.substr(0, 60),
                       row.recompute.substr(0, 40));
}

Result<Comparison> MeasuredTrainingRuns::compare(const MeasuredTraining& table_row) {
    const Trainers& trainers = models_.trainers();
    const MeasuredTraining row =
        with_recipe(table_row, trainers.recipe({table_row.source, table_row.table, table_row.model, table_row.dtype}));
    const TrainerHabits habits = trainers.habits(row.source, row.table, row.notes);
    const Result<Model>& model = this->model(row);
    if (!model) return fail(model.error());
    const bool all_sharded = row.sharding.starts_with("fsdp") && row.data == 0;
    if (row.expert == 0 && experts_of(*model) > 0 && !all_sharded) {
        return fail("no_plan", "the model has experts, but ep is empty");
    }
    ROOFLINE_TRY(auto setup, setup_of(row, habits));
    double measured_s = row.step_s;
    if (!(measured_s > 0) && row.model_flops > 0 && !(row.memory_bytes > 0)) {
        ROOFLINE_TRY(measured_s, seconds_by_rate(row, habits, *model, setup.batch.tokens));
    }
    if (row.lora) {
        ROOFLINE_TRY(const auto adapters, models_.adapters(row, setup.products));
        std::erase_if(setup.overlapped, [&](const std::string& axis) { return has(adapters.exposed, axis); });
    }
    const bool memory_compared = row.memory_bytes > 0 && why_memory_skipped(row).empty();
    if (!memory_compared) setup.held = {};
    const Result<MeasuredSystem>& system =
        systems_.slice_of(row.system, row.chips, std::max<std::int64_t>(row.slices, 1));
    if (!system) return fail(system.error());
    const auto priced = price(row, *model, setup, *system);
    if (!priced) return fail(priced.error());
    Comparison comparison;
    comparison.line = row.line;
    comparison.kind = MeasuredKind::training;
    comparison.source = row.source;
    comparison.strategy = strategy_of(setup.plan);
    comparison.system = system->id;
    comparison.slice = system->slice();
    comparison.operation = "train";
    comparison.shape = row.shape();
    comparison.devices = row.chips;
    comparison.dtype = row.dtype;
    comparison.variant = row.recompute;
    comparison.measured_s = measured_s;
    comparison.prediction.lower_s = priced->times.lower;
    comparison.prediction.expected_s = priced->times.expected;
    comparison.prediction.expected_error = priced->times.expected_error;
    comparison.parts = priced->times.parts;
    if (memory_compared) comparison.memory = memory_of(row, habits, priced->memory, pricing_.step_model.reserved);
    return comparison;
}

}  // namespace roofline::core
