// The degrees of parallelism of a launch, and the plan that they make.
#include <fmt/format.h>

#include <string>

#include "import/launch/launch_plan_reader.hpp"
#include "import/launch/slice_degrees.hpp"

namespace roofline::core {

// The degree of a key times those that multiply it; empty where the framework finds it itself.
std::optional<std::int64_t> LaunchPlanReader::degree_of(std::string_view key) const {
    std::optional<std::int64_t> all;
    for (const LaunchSetting& each : table().settings) {
        if (each.key != key && each.times != key) continue;
        const auto found = left_over_.find(each.key);
        const auto number = found == left_over_.end() ? values_.number(each.key) : std::optional(found->second);
        if (number) all = product_of({all.value_or(1), *number});
    }
    return all;
}

// Degrees that fit together multiply to the chips.
Status LaunchPlanReader::read_degrees() {
    degrees_.tensor = degree("tensor");
    degrees_.pipeline = degree("pipeline");
    const bool heads = values_.text("context_kind") == "heads";
    (heads ? degrees_.heads : degrees_.context) = degree("context");
    degrees_.heads = product_of({degrees_.heads, degree("sequence")});
    degrees_.expert = !has("experts_on") || values_.on("experts_on") ? degree("expert") : 1;
    if (table().lone_experts && degrees_.expert > 1 && degrees_.tensor > 1) {
        return values_.fail_at("expert", "contradiction",
                               fmt::format("{} spreads experts only without tensor parallelism", table().title),
                               fmt::format("leave out {} or {}", values_.written("expert"), values_.written("tensor")));
    }
    const std::int64_t own = table().expert_axis ? degrees_.expert : 1;
    const std::int64_t model = product_of({degrees_.tensor, degrees_.pipeline, degrees_.context, degrees_.heads, own});
    if (model == 0 || job_.chips % model != 0) {
        return values_.fail_at(
            "tensor", "bad_plan",
            fmt::format("tensor {} x pipeline {} x context {}{} is {} chips, which do not divide the {} of --on",
                        degrees_.tensor, degrees_.pipeline, product_of({degrees_.context, degrees_.heads}),
                        own > 1 ? fmt::format(" x expert {}", own) : "", model, job_.chips),
            "give a slice of the machine whose number of chips is a multiple");
    }
    degrees_.replicas = job_.chips / model;
    return {};
}

// How replicas shard weights: `replicate` groups hold the same weights, `shard` members shard them as ZeRO-3 does.
Status LaunchPlanReader::read_sharding() {
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
        return values_.fail_at("sharded_what", "contradiction",
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

Status LaunchPlanReader::read_replicate_and_shard() {
    const std::int64_t replicate = degree("replicate");
    if (degrees_.replicas % replicate != 0) {
        return values_.fail_at("replicate", "bad_plan",
                               fmt::format("{} replicas do not divide the {} that remain of {} chips", replicate,
                                           degrees_.replicas, job_.chips),
                               "change it, or --on");
    }
    const auto shard = degree_of("shard").value_or(degrees_.replicas / replicate);
    if (product_of({shard, replicate}) != degrees_.replicas) {
        return values_.fail_at(
            "shard", "bad_plan",
            fmt::format("{} x {} replicas, and {} remain of {} chips", replicate, shard, degrees_.replicas, job_.chips),
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
                                   "no plan keeps weights gathered if several groups of replicas shard them",
                                   fmt::format("use one group, or {} \"always\"", values_.written("resharded")));
        }
        degrees_.replicate = shard;
        degrees_.shard = 1;
        degrees_.zero = degrees_.pipeline > 1 ? 1 : 2;
    }
    return {};
}

// Experts that lie on chips of other axes.
Status LaunchPlanReader::read_plan() {
    Plan& plan = launch_.plan;
    plan.tensor = degrees_.tensor;
    plan.pipeline = degrees_.pipeline;
    plan.context = degrees_.context;
    plan.sequence = degrees_.heads;
    plan.data = degrees_.replicate;
    plan.fsdp = degrees_.shard;
    plan.zero = degrees_.zero;
    if (degrees_.expert > 1 && !job_.experts) {
        return values_.fail_at("expert", "bad_plan", "the model has no experts", "remove it, or take another model");
    }
    ROOFLINE_CHECK(place_experts(plan));
    plan.tensor_tokens = plan.tensor == 1 || table().tensor_tokens == "always" || values_.on("tokens_over_tensor");
    ROOFLINE_CHECK(check_plan(plan, job_.chips));
    return shard_over_others(plan);
}

// Weights are sharded over further axes, too.
Status LaunchPlanReader::shard_over_others(Plan& plan) {
    if (plan.replicas() == 1) plan.zero = 0;
    if (plan.replicas() == 1 || !degrees_.whole || table().shards_over.empty()) return {};
    if (plan.data > 1 && plan.data == plan.replicas()) return {};
    if (plan.data > 1) {
        note(
            "weights are sharded over `fsdp` alone: with `data` no plan shards them over context or experts, unless "
            "over `data` as well");
    } else {
        plan.zero = 3;
    }
    return {};
}

Status LaunchPlanReader::place_experts(Plan& plan) {
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
bool LaunchPlanReader::default_columns() const {
    const LaunchSetting* const setting = table().of_key("expert_tensor");
    return setting->otherwise.empty();
}

}  // namespace roofline::core
