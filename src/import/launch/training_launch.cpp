#include "import/launch/training_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <utility>

#include "import/launch/slice_degrees.hpp"

namespace roofline::core {

namespace {

/// Degrees of the framework, before they become a plan.
struct LaunchDegrees {
    std::int64_t tensor = 1;
    std::int64_t pipeline = 1;
    std::int64_t context = 1;
    std::int64_t heads = 1;      ///< sequences whose heads are exchanged (Ulysses)
    std::int64_t replicas = 1;   ///< that hold the same weights or share them out
    std::int64_t replicate = 1;  ///< of these those that hold the same
    std::int64_t shard = 1;      ///< and those that share out
    std::int64_t expert = 1;
    int zero = 0;
    bool whole = false;  ///< weights are shared out, too
};

class LaunchPlanReader {
public:
    LaunchPlanReader(const LaunchValues& values, const LaunchJob& job) : values_(values), job_(job) {}

    Result<TrainingLaunch> read() {
        launch_.notes = values_.notes();
        ROOFLINE_TRY(left_over_, left_over_degrees(values_, job_));
        ROOFLINE_CHECK(read_degrees());
        ROOFLINE_CHECK(read_sharding());
        ROOFLINE_CHECK(read_plan());
        ROOFLINE_CHECK(read_schedule());
        ROOFLINE_CHECK(read_batch());
        ROOFLINE_CHECK(read_remat());
        ROOFLINE_CHECK(read_numbers());
        ROOFLINE_CHECK(read_optimizer());
        read_overlap();
        return std::move(launch_);
    }

private:
    [[nodiscard]] const LaunchTable& table() const { return values_.table(); }
    [[nodiscard]] bool has(std::string_view key) const { return table().of_key(key) != nullptr; }
    [[nodiscard]] std::int64_t degree(std::string_view key) const { return degree_of(key).value_or(1); }

    // The degree of a key times those that multiply it; empty where the framework finds it itself.
    [[nodiscard]] std::optional<std::int64_t> degree_of(std::string_view key) const {
        std::optional<std::int64_t> all;
        for (const LaunchSetting& each : table().settings) {
            if (each.key != key && each.times != key) continue;
            const auto found = left_over_.find(each.key);
            const auto number = found == left_over_.end() ? values_.number(each.key) : std::optional(found->second);
            if (number) all = product_of({all.value_or(1), *number});
        }
        return all;
    }

    void note(std::string text) { launch_.notes.push_back(std::move(text)); }

    // Degrees that fit together multiply to the chips.
    Status read_degrees() {
        degrees_.tensor = degree("tensor");
        degrees_.pipeline = degree("pipeline");
        const bool heads = values_.text("context_kind") == "heads";
        (heads ? degrees_.heads : degrees_.context) = degree("context");
        degrees_.heads = product_of({degrees_.heads, degree("sequence")});
        degrees_.expert = !has("experts_on") || values_.on("experts_on") ? degree("expert") : 1;
        if (table().lone_experts && degrees_.expert > 1 && degrees_.tensor > 1) {
            return values_.fail_at(
                "expert", "contradiction",
                fmt::format("{} spreads experts only without tensor parallelism", table().title),
                fmt::format("leave out {} or {}", values_.written("expert"), values_.written("tensor")));
        }
        const std::int64_t own = table().expert_axis ? degrees_.expert : 1;
        const std::int64_t model =
            product_of({degrees_.tensor, degrees_.pipeline, degrees_.context, degrees_.heads, own});
        if (model == 0 || job_.chips % model != 0) {
            return values_.fail_at(
                "tensor", "bad_plan",
                fmt::format("tensor {} x pipeline {} x context {}{} is {} chips, which do not divide the {} of --on",
                            degrees_.tensor, degrees_.pipeline, product_of({degrees_.context, degrees_.heads}),
                            own > 1 ? fmt::format(" x expert {}", own) : "", model, job_.chips),
                "give the machine that runs it: its number of chips is a multiple");
        }
        degrees_.replicas = job_.chips / model;
        return {};
    }

    // What replicas share out: `replicate` hold the same weights, `shard` share them out as ZeRO-3 does.
    Status read_sharding() {
        if (has("shard")) return read_replicate_and_shard();
        const auto stage = values_.text("zero_stage");
        degrees_.zero = stage.empty() ? 0 : stage.front() - '0';
        if (values_.on("zero1")) degrees_.zero = 1;
        if (values_.on("sharded")) {
            const std::string what = values_.text("sharded_what");
            if (!values_.stated("sharded_what")) {
                note(fmt::format("without {} nothing is sharded", values_.written("sharded_what")));
            }
            degrees_.zero = what.front() - '0';
        } else if (values_.stated("sharded_what")) {
            return values_.fail_at(
                "sharded_what", "contradiction",
                fmt::format("{} needs {}", values_.written("sharded_what"), values_.written("sharded")),
                "add it, or remove this");
        }
        if (values_.on("fully_sharded")) {
            if (values_.on("sharded") || values_.on("zero1")) {
                return values_.fail_at("fully_sharded", "contradiction",
                                       fmt::format("{} excludes {} and {}", values_.written("fully_sharded"),
                                                   values_.written("sharded"), values_.written("zero1")),
                                       "keep one of them");
            }
            degrees_.zero = values_.on("not_resharded") ? 2 : 3;
        }
        degrees_.whole = degrees_.zero == 3;
        (degrees_.whole ? degrees_.shard : degrees_.replicate) = degrees_.replicas;
        if (degrees_.whole) degrees_.zero = 0;
        return {};
    }

    Status read_replicate_and_shard() {
        const std::int64_t replicate = degree("replicate");
        if (degrees_.replicas % replicate != 0) {
            return values_.fail_at("replicate", "bad_plan",
                                   fmt::format("{} replicas do not divide the {} that remain of {} chips", replicate,
                                               degrees_.replicas, job_.chips),
                                   "change it, or --on");
        }
        const auto shard = degree_of("shard").value_or(degrees_.replicas / replicate);
        if (product_of({shard, replicate}) != degrees_.replicas) {
            return values_.fail_at("shard", "bad_plan",
                                   fmt::format("{} x {} replicas, and {} remain of {} chips", replicate, shard,
                                               degrees_.replicas, job_.chips),
                                   "change it, or --on; -1 is what remains");
        }
        degrees_.replicate = replicate;
        degrees_.shard = shard;
        // In a pipeline weights stay gathered between microbatches unless they are freed after each use; without one
        // they stay only if that is asked for.
        const std::string freed = values_.text("resharded");
        const bool stays = freed == "never" || (freed == "default" && degrees_.pipeline > 1);
        const bool others = product_of({degrees_.context, degrees_.heads, degrees_.expert}) > 1;
        degrees_.whole = !stays && (shard > 1 || replicate == 1 || (others && !table().shards_over.empty()));
        if (values_.on("zero1") && replicate > 1) degrees_.zero = 1;
        if (stays && (shard > 1 || others)) {
            if (replicate > 1) {
                return values_.fail_at("replicate", "bad_plan",
                                       "no plan keeps gathered weights in groups of replicas that share them out",
                                       fmt::format("use one group, or {} \"always\"", values_.written("resharded")));
            }
            degrees_.replicate = shard;
            degrees_.shard = 1;
            degrees_.zero = degrees_.pipeline > 1 ? 1 : 2;
        }
        return {};
    }

    // Experts that lie on chips of other axes.
    Status read_plan() {
        Plan& plan = launch_.plan;
        plan.tensor = degrees_.tensor;
        plan.pipeline = degrees_.pipeline;
        plan.context = degrees_.context;
        plan.sequence = degrees_.heads;
        plan.data = degrees_.replicate;
        plan.fsdp = degrees_.shard;
        plan.zero = degrees_.zero;
        if (degrees_.expert > 1 && !job_.experts) {
            return values_.fail_at("expert", "bad_plan", "the model has no experts",
                                   "remove it, or take another model");
        }
        ROOFLINE_CHECK(place_experts(plan));
        plan.tensor_tokens = plan.tensor == 1 || table().tensor_tokens == "always" || values_.on("tokens_over_tensor");
        ROOFLINE_CHECK(check_plan(plan, job_.chips));
        return shard_over_others(plan);
    }

    // Sharded weights are shared out over further axes, too.
    Status shard_over_others(Plan& plan) {
        if (plan.replicas() == 1) plan.zero = 0;
        if (plan.replicas() == 1 || !degrees_.whole || table().shards_over.empty()) return {};
        if (plan.data > 1 && plan.data == plan.replicas()) return {};
        if (plan.data > 1) {
            note(
                "weights are shared out over the members of `fsdp` alone: no plan shares them out over context or "
                "experts, too, but not over `data`");
        } else {
            plan.zero = 3;
        }
        return {};
    }

    Status place_experts(Plan& plan) {
        const std::int64_t expert = degrees_.expert;
        if (table().expert_axis) plan.expert = expert;
        if (expert == 1 || table().expert_axis) return {};
        const std::int64_t columns =
            values_.number("expert_tensor").value_or(has("expert_tensor") && default_columns() ? plan.tensor : 1);
        if (columns != 1 && columns != plan.tensor) {
            return values_.fail_at("expert_tensor", "bad_plan",
                                   fmt::format("experts are split by columns over {} chips and attention over {}: no "
                                               "plan can express that",
                                               columns, plan.tensor),
                                   fmt::format("make it 1 or {}", plan.tensor));
        }
        const bool over_tensor = columns == 1 && plan.tensor > 1;
        if (over_tensor && expert % plan.tensor != 0) {
            return values_.fail_at("expert", "bad_plan",
                                   fmt::format("whole experts on {} chips are no multiple of tensor {}: no plan can "
                                               "express that",
                                               expert, plan.tensor),
                                   fmt::format("make it a multiple of {}", plan.tensor));
        }
        const std::int64_t members = over_tensor ? expert / plan.tensor : expert;
        if (table().context_first && plan.context * plan.sequence > 1 && members > 1) {
            note(
                "experts lie on the members of context first, and on those of replicas beyond; the plan has them on "
                "replicas, which take as much memory and send tokens over other links");
        }
        std::int64_t& from = plan.fsdp > 1 ? plan.fsdp : plan.data;
        if (from % members != 0) {
            return values_.fail_at("expert", "bad_plan",
                                   fmt::format("experts on {} chips do not divide the {} replicas: no plan spreads "
                                               "them over context, too",
                                               expert, from),
                                   "make it a divisor, or lower the degrees of context");
        }
        from /= members;
        plan.expert = members;
        plan.experts_over_tensor = over_tensor;
        return {};
    }

    // Whether experts are split over the tensor axis where the launch does not say it.
    [[nodiscard]] bool default_columns() const {
        const LaunchSetting* const setting = table().of_key("expert_tensor");
        return setting->otherwise.empty();
    }

    Status read_schedule() {
        if (launch_.plan.pipeline == 1) {
            if (values_.number("chunks").value_or(1) > 1) {
                return values_.fail_at("chunks", "contradiction", "virtual stages need a pipeline",
                                       "remove them, or add stages");
            }
            return {};
        }
        const std::string named = has("schedule") ? values_.text("schedule") : table().schedule;
        if (!named.empty()) {
            ROOFLINE_TRY(launch_.schedule, parse_schedule(named));
        }
        std::int64_t chunks = values_.number("chunks").value_or(1);
        if (const auto layers = values_.number("chunk_layers")) {
            // torchtitan counts the embedding and the head as layers
            const std::int64_t further = whole_number("first_less") + whole_number("last_less");
            const std::int64_t all = values_.number("layers").value_or(job_.layers) + further;
            const std::int64_t stages = (all + *layers - 1) / *layers;
            const bool uneven = further == 0 && all % *layers != 0;
            if (values_.stated("chunks") || uneven || stages % launch_.plan.pipeline != 0) {
                return values_.fail_at(
                    "chunk_layers", "bad_plan",
                    values_.stated("chunks")
                        ? fmt::format("{} and {} exclude one another", values_.written("chunk_layers"),
                                      values_.written("chunks"))
                        : fmt::format("{} stages with {} layers in each part do not divide {} layers",
                                      launch_.plan.pipeline, *layers, all),
                    "change it");
            }
            chunks = stages / launch_.plan.pipeline;
        }
        if (chunks > 1) {
            launch_.schedule.schedule = Schedule::interleaved;
            launch_.schedule.chunks = chunks;
        } else if (launch_.schedule.schedule == Schedule::interleaved && values_.stated("chunk_layers")) {
            launch_.schedule.schedule = Schedule::one_f_one_b;
            launch_.schedule.chunks = 1;
        }
        return {};
    }

    [[nodiscard]] std::int64_t whole_number(std::string_view key) const {
        const std::string text = values_.text(key);
        std::int64_t number = 0;
        std::from_chars(text.data(), text.data() + text.size(), number);
        return std::clamp<std::int64_t>(number, 0, 1000);
    }

    Status divide(std::int64_t all, std::int64_t parts, std::string_view key, std::int64_t& result) {
        if (parts == 0 || all % parts != 0) {
            return values_.fail_at(key, "bad_plan",
                                   fmt::format("{} sequences do not divide into parts of {}", all, parts),
                                   "change it, or --on");
        }
        result = all / parts;
        return {};
    }

    Status read_batch() {
        launch_.sequence = values_.number("sequence_tokens");
        const Plan& plan = launch_.plan;
        const std::int64_t replicas = plan.data * plan.fsdp * plan.expert;
        std::int64_t parts = 1;
        if (has("local_batch")) return read_local_batch(replicas);
        if (has("device_batch")) return read_device_batch();
        auto micro = values_.number("micro_batch");
        const auto whole = values_.number("global_batch");
        const auto steps = values_.number("accumulation");
        if (!micro && whole && steps) {
            std::int64_t per_replica = 0;
            ROOFLINE_CHECK(divide(*whole, product_of({replicas, *steps}), "global_batch", per_replica));
            micro = per_replica;
        }
        if (!micro) return {};
        const std::int64_t at_once = product_of({*micro, replicas});
        parts = steps.value_or(1);
        if (whole) {
            ROOFLINE_CHECK(divide(*whole, at_once, "global_batch", parts));
            if (steps && *steps != parts) {
                return values_.fail_at("accumulation", "contradiction",
                                       fmt::format("{} sequences in parts of {} on {} replicas are {} microbatches",
                                                   *whole, *micro, replicas, parts),
                                       "change one of them, or --on");
            }
        }
        launch_.microbatches = parts;
        launch_.sequences = product_of({at_once, parts});
        return {};
    }

    // A batch of a replica, which a pipeline divides.
    Status read_local_batch(std::int64_t replicas) {
        const auto local = values_.number("local_batch");
        if (!local) return {};
        const std::int64_t at_once = product_of({*local, replicas});
        const std::int64_t whole = values_.number("global_batch").value_or(at_once);
        std::int64_t steps = 1;
        ROOFLINE_CHECK(divide(whole, at_once, "global_batch", steps));
        std::int64_t parts = 1;
        if (launch_.plan.pipeline > 1) {
            if (steps > 1) {
                return values_.fail_at("global_batch", "bad_plan",
                                       fmt::format("gradients of {} passes through the pipeline are added: no plan can "
                                                   "express that",
                                                   steps),
                                       fmt::format("make {} {}", values_.written("local_batch"), *local * steps));
            }
            ROOFLINE_CHECK(divide(*local, degree("pipeline_micro_batch"), "pipeline_micro_batch", parts));
        }
        launch_.microbatches = product_of({steps, parts});
        launch_.sequences = whole;
        return {};
    }

    // A batch of a chip, which may be a part of a sequence.
    Status read_device_batch() {
        const auto each = values_.real("device_batch");
        if (!each) return {};
        const double all = *each * static_cast<double>(job_.chips);
        if (all < 1 || all > static_cast<double>(std::int64_t{1} << 40U)) {
            return values_.fail_at("device_batch", "bad_plan",
                                   fmt::format("{} sequences on each of {} chips are no batch", *each, job_.chips),
                                   "change it, or --on");
        }
        const auto whole = static_cast<std::int64_t>(all);
        const std::int64_t steps = degree("accumulation");
        std::int64_t parts = 1;
        if (launch_.plan.pipeline > 1) {
            if (steps > 1) {
                return values_.fail_at("accumulation", "bad_plan",
                                       fmt::format("gradients of {} passes through the pipeline are added: no plan can "
                                                   "express that",
                                                   steps),
                                       "raise the microbatches of the pipeline instead");
            }
            parts = values_.number("pipeline_microbatches").value_or(launch_.plan.pipeline);
            std::int64_t micro = 0;
            ROOFLINE_CHECK(divide(whole, parts, "pipeline_microbatches", micro));
        }
        launch_.microbatches = product_of({steps, parts});
        launch_.sequences = product_of({whole, steps});
        return {};
    }

    Status read_remat() {
        if (!has("recompute")) return {};
        std::string policy = values_.text("recompute");
        if (policy == "alternate" && has("recompute_option")) {
            const std::string option = values_.text("recompute_option");
            if (option != "op") policy = option == "1" ? "full" : "other";
        }
        if (policy == "other") {
            note(fmt::format("{}: what it keeps is no policy; give --remat",
                             values_.written(values_.stated("recompute") ? "recompute" : "recompute_option")));
            return {};
        }
        if (values_.on("recompute_old") && policy == "none") policy = "selective";
        if (policy == "selective" && has("recompute_modules")) {
            const std::string modules = values_.text("recompute_modules");
            if (modules != "core_attn") {
                return values_.fail_at(
                    "recompute_modules", "bad_plan",
                    fmt::format("there is no policy that recomputes {}", modules.substr(0, 60)),
                    "core_attn is --remat selective; name tensors with --remat in a plan of your own");
            }
        }
        if (policy == "full" && has("recompute_method")) ROOFLINE_CHECK(check_whole_layers());
        ROOFLINE_TRY(launch_.remat, remat_options(policy));
        return {};
    }

    // Recomputation of some layers of a stage is no policy.
    Status check_whole_layers() {
        const auto layers = values_.number("recompute_layers");
        if (values_.text("recompute_method") == "uniform") {
            if (layers.value_or(1) == 1) return {};
            return values_.fail_at(
                "recompute_layers", "bad_plan",
                fmt::format("groups of {} layers are recomputed together: there is no such policy", *layers),
                "1 is --remat full");
        }
        const std::int64_t of_stage =
            values_.number("layers").value_or(job_.layers) / std::max<std::int64_t>(launch_.plan.pipeline, 1);
        if (layers.value_or(of_stage) >= of_stage) return {};
        return values_.fail_at("recompute_layers", "bad_plan",
                               fmt::format("only {} of the {} layers of a stage are recomputed, for which there is no "
                                           "policy",
                                           *layers, of_stage),
                               fmt::format("{} is --remat full", of_stage));
    }

    Status read_numbers() {
        if (values_.on("fp16")) note("fp16 is priced as bf16");
        if (values_.on("fp16") && values_.on("bf16")) {
            return values_.fail_at("fp16", "contradiction", "the dtype is both fp16 and bf16", "keep one of them");
        }
        launch_.numbers = has("fp8") || has("converters");
        std::string dtype = values_.text("fp8");
        for (const std::string& word : {values_.text("converters")}) {
            if (word.find("float8") != std::string::npos) dtype = "fp8";
            if (word.find("mx") != std::string::npos) dtype = "mxfp8";
        }
        if (dtype == "fp8" && has("fp8_recipe")) dtype = values_.text("fp8_recipe");
        if (!values_.text("fp4").empty()) {
            if (!dtype.empty() && dtype != "none") {
                return values_.fail_at("fp4", "contradiction", "the dtype of matmuls is given twice",
                                       "keep one of them");
            }
            dtype = values_.text("fp4");
        }
        if (!dtype.empty() && dtype != "none") launch_.products = find_dtype(dtype);
        return {};
    }

    Status read_optimizer() {
        if (!has("optimizer")) return {};
        TrainingOptions options;
        options.master = table().master;
        const std::string name = values_.text("optimizer");
        if (name == "sgd") options.optimizer = Optimizer::sgd;
        if (values_.stated("master") && values_.text("master") != "f32") {
            note(fmt::format("{}: a copy of the parameters in other than f32 is counted as one in f32",
                             values_.written("master")));
        }
        options.f32_gradients =
            table().f32_gradients && values_.text("gradients") != "bf16" && !values_.on("narrow_gradients");
        if (has("own_precision") && !values_.on("own_precision")) {
            for (const char* key : {"gradients", "moment", "second_moment", "master"}) {
                if (!values_.stated(key) || values_.text(key) == "f32") continue;
                return values_.fail_at(
                    key, "contradiction",
                    fmt::format("{} needs {}", values_.written(key), values_.written("own_precision")),
                    "add it, or remove this");
            }
        }
        const std::string moment = values_.text("moment");
        const std::string second = has("second_moment") ? values_.text("second_moment") : moment;
        if (!moment.empty() && moment != second) {
            return values_.fail_at("second_moment", "bad_plan",
                                   fmt::format("the moments are {} and {}: no plan can express that", moment, second),
                                   "use one dtype for both");
        }
        if (const auto dtype = find_dtype(moment)) options.moments = *dtype;
        if (has("held_parameters") && values_.text("held_parameters") != values_.text("held")) {
            return values_.fail_at(values_.text("held") == "bf16" ? "held" : "held_parameters", "contradiction",
                                   fmt::format("{} and {} are given together, or states lie in the host's memory",
                                               values_.written("held_parameters"), values_.written("held")),
                                   "give both or none");
        }
        if (values_.text("held") == "bf16") {
            options.master = options.f32_gradients = false;
            options.moments = Dtype::bf16;
        }
        launch_.optimizer = options;
        return {};
    }

    void read_overlap() {
        if (!has("overlap_tensor") && !has("overlap_expert")) return;
        std::vector<std::string> axes;
        if (values_.on("overlap_tensor") && launch_.plan.tensor > 1) axes.emplace_back("tensor");
        if (values_.on("overlap_expert") && launch_.plan.expert > 1) axes.emplace_back("expert");
        launch_.overlapped = std::move(axes);
        if (has("overlap_gradients") && !values_.on("overlap_gradients") && launch_.plan.replicas() > 1) {
            note(fmt::format("{} is not given, but times assume that gradients are reduced during the backward pass",
                             values_.written("overlap_gradients")));
        }
    }

    const LaunchValues& values_;
    LaunchJob job_;
    LaunchDegrees degrees_;
    std::map<std::string, std::int64_t, std::less<>> left_over_;  ///< degrees that are left to the framework
    TrainingLaunch launch_;
};

}  // namespace

Result<TrainingLaunch> training_launch(const LaunchValues& values, const LaunchJob& job) {
    return LaunchPlanReader(values, job).read();
}

}  // namespace roofline::core
