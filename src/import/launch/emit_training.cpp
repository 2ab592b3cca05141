#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "import/launch/training_launch.hpp"

namespace roofline::core {

namespace {

class LaunchPlanWriter {
public:
    LaunchPlanWriter(const LaunchTable& table, const TrainingLaunch& launch, const LaunchJob& job)
        : table_(table), launch_(launch), plan_(launch.plan), job_(job), out_(table) {}

    EmittedLaunch write(LaunchRemarks known) {
        if (!known.fits) out_.remark("the plan needs more memory than a chip has");
        write_degrees();
        write_batch();
        write_schedule();
        write_remat();
        write_numbers();
        write_optimizer();
        write_overlap();
        if (!plan_.links.empty()) missing("the links of axes; ranks lie as the framework orders them");
        if (known.adapters) missing("low-rank adapters, which its fine-tuning scripts set up");
        if (!table_.note.empty()) out_.remark(table_.note);
        return std::move(out_).written(launch_heading(plan_, job_.chips));
    }

private:
    [[nodiscard]] bool has(std::string_view key) const { return table_.of_key(key) != nullptr; }
    void missing(const std::string& what) { out_.remark("not expressed: " + what); }

    // Sets a degree that is more than one.
    void degree(std::string_view key, std::int64_t value, std::string_view axis) {
        if (value == 1 || set_degree(key, value)) return;
        missing(fmt::format("{}={}, for which {} has no setting", axis, value, table_.title));
    }

    // A degree that the framework splits into one inside of slices and one between them is split when all are known.
    bool set_degree(std::string_view key, std::int64_t value) {
        if (!has(key)) return false;
        split_.emplace_back(key, value);
        return out_.set(key, value);
    }

    [[nodiscard]] const LaunchSetting* between(std::string_view key) const {
        const auto found = std::find_if(table_.settings.begin(), table_.settings.end(),
                                        [&](const LaunchSetting& each) { return each.between && each.times == key; });
        return found == table_.settings.end() ? nullptr : &*found;
    }

    // Axes fill a slice in the order in which they are placed on chips.
    void split_over_slices() {
        if (job_.slices <= 1 || between("tensor") == nullptr) return;
        std::int64_t room = job_.chips / job_.slices;
        for (const char* key : {"tensor", "sequence", "context", "expert", "shard", "replicate", "pipeline"}) {
            for (const auto& [given, value] : split_) {
                if (given != key) continue;
                const std::int64_t inside = std::gcd(value, room);
                room /= inside;
                out_.set(key, inside);
                out_.set(between(key)->key, value / inside);
            }
        }
        if (room > 1) {
            missing(fmt::format("degrees that do not divide slices of {} chips", job_.chips / job_.slices));
        }
    }

    void write_degrees() {
        set_degree("tensor", plan_.tensor);
        degree("pipeline", plan_.pipeline, "pipeline");
        write_context();
        write_experts();
        has("shard") ? write_groups() : write_stage();
        split_over_slices();
        if (plan_.tensor == 1) return;
        const bool split = table_.tensor_tokens == "always";
        if (has("tokens_over_tensor")) {
            if (plan_.tensor_tokens) out_.set("tokens_over_tensor", "true");
        } else if (split != plan_.tensor_tokens) {
            missing(plan_.tensor_tokens ? "tokens over the tensor axis; it holds them whole on each of its members"
                                        : "whole tokens on each member of the tensor axis; it spreads them");
        }
    }

    void write_context() {
        if (plan_.sequence == 1 || !has("context_kind")) {
            degree("context", plan_.context, "context");
            degree("sequence", plan_.sequence, "sequence");
            return;
        }
        if (plan_.context > 1 && has("sequence")) {
            degree("context", plan_.context, "context");
            degree("sequence", plan_.sequence, "sequence");
            out_.set("context_kind", "both");
            return;
        }
        degree("context", plan_.context * plan_.sequence, "context");
        if (plan_.context == 1) {
            out_.set("context_kind", "heads");
        } else {
            missing(fmt::format("sequence={} beside context={}; see {} for both", plan_.sequence, plan_.context,
                                table_.written("hierarchical-context-parallel-sizes")));
        }
    }

    void write_experts() {
        const std::int64_t over = plan_.experts_over_tensor ? plan_.tensor : 1;
        degree("expert", plan_.expert * over, "expert");
        if (plan_.expert * over > 1) out_.set("experts_on", "true");
        if (table_.context_first && plan_.expert > 1 && plan_.context * plan_.sequence > 1) {
            out_.remark(
                "experts lie on the members of context first; the plan has them on chips of other sequences, which "
                "takes as much memory and sends tokens over other links");
        }
        if (plan_.expert * over == 1 || plan_.tensor == 1) return;
        if (table_.lone_experts) {
            missing("spread experts beside tensor parallelism, with which it does not start");
            return;
        }
        const std::int64_t columns = plan_.experts_over_tensor ? 1 : plan_.tensor;
        const LaunchSetting* const setting = table_.of_key("expert_tensor");
        if (setting == nullptr) {
            if (table_.expert_axis == (columns > 1)) return;
            missing(columns > 1 ? "experts split by columns over the tensor axis"
                                : "whole experts on members of the tensor axis; it splits their columns");
            return;
        }
        if (!setting->otherwise.empty() || columns == 1) out_.set("expert_tensor", columns);
    }

    [[nodiscard]] bool shards_weights() const { return plan_.fsdp > 1 || plan_.zero == 3; }

    // Frameworks in which all replicas share out the same.
    void write_stage() {
        const std::int64_t replicas = plan_.data * plan_.fsdp * plan_.expert;
        out_.remark(fmt::format("data parallel: {} chips / (tensor {} x pipeline {} x context {}) = {}", job_.chips,
                                plan_.tensor, plan_.pipeline, plan_.context * plan_.sequence, replicas));
        if (plan_.fsdp > 1 && plan_.data > 1 && plan_.zero < 3) {
            missing(fmt::format("groups of replicas: it shares weights out over all {} replicas", replicas));
        } else if (plan_.fsdp > 1 && plan_.zero < 3 && plan_.replicas() > 1) {
            missing("sharding over `fsdp` alone; it shares weights out over context and experts, too");
        }
        const int stage = shards_weights() ? 3 : plan_.zero;
        if (stage == 0) {
            out_.set("zero_stage", "0");
            return;
        }
        if (out_.set("zero_stage", stage)) return;
        if (stage == 1 && out_.set("zero1", "true")) return;
        out_.set("sharded", "true");
        out_.set("sharded_what", stage);
    }

    // Frameworks with replicas that hold the same, and others that share out.
    void write_groups() {
        const bool inner = plan_.fsdp > 1;
        const std::int64_t shared = plan_.fsdp * (table_.expert_axis ? 1 : plan_.expert);
        if (inner && plan_.replicas() > 1 && plan_.zero < 3 && plan_.context * plan_.sequence * plan_.expert > 1) {
            missing("sharding over `fsdp` alone; it shares weights out over context and experts, too");
        }
        if (inner || plan_.zero == 3) {
            const bool all = plan_.zero == 3;
            set_degree("shard", all ? shared * plan_.data : shared);
            degree("replicate", all ? 1 : plan_.data, "data");
            if (!all && plan_.zero > 0 && plan_.data > 1 && (plan_.zero > 1 || !out_.set("zero1", "true"))) {
                missing(fmt::format("ZeRO-{} over groups that share out weights", plan_.zero));
            }
            if (plan_.pipeline > 1) out_.set("resharded", "always");
            return;
        }
        const bool keeps = has("zero1") && (plan_.zero == 1 || plan_.expert > 1);
        if ((plan_.zero == 0 && plan_.expert == 1) || keeps) {
            degree("replicate", plan_.data, "data");
            set_degree("shard", 1);
            if (plan_.zero == 1) out_.set("zero1", "true");
            if (table_.fixed_replicas && plan_.data > 1 && plan_.context * plan_.sequence == 1 &&
                plan_.tensor * plan_.pipeline > 1) {
                missing(
                    "replicas that hold whole weights beside a tensor or pipeline axis, with which it does not start; "
                    "shard them: --zero 2, or fsdp instead of data");
            }
            if (keeps && plan_.expert > 1) missing("whole weights on each member of expert; it shares them out");
            if (plan_.context * plan_.sequence > 1)
                missing("whole weights on each member of context; it shares them out");
            return;
        }
        set_degree("shard", shared * plan_.data);
        if (!has("resharded")) {
            missing(fmt::format("ZeRO-{}; with these settings it is ZeRO-3", plan_.zero));
            return;
        }
        const int kept = plan_.pipeline > 1 ? 1 : 2;
        if (plan_.zero != kept) {
            missing(fmt::format(
                "{}; with these settings it is ZeRO-{}",
                plan_.zero == 0 ? "whole weights beside spread experts" : fmt::format("ZeRO-{}", plan_.zero), kept));
        }
        out_.set("resharded", plan_.pipeline > 1 ? "default" : "never");
    }

    void write_batch() {
        if (launch_.sequence && !out_.set("sequence_tokens", *launch_.sequence)) {
            missing(fmt::format("sequences of {} tokens, which its data have", *launch_.sequence));
        }
        if (!launch_.sequences) return;
        const std::int64_t replicas = plan_.data * plan_.fsdp * plan_.expert;
        const std::int64_t parts = launch_.microbatches.value_or(1);
        const std::int64_t whole = *launch_.sequences;
        if (whole % replicas != 0 || (whole / replicas) % parts != 0) {
            missing(fmt::format("{} sequences on {} replicas in {} microbatches, which do not divide", whole, replicas,
                                parts));
            return;
        }
        const std::int64_t each = whole / replicas / parts;
        out_.set("global_batch", whole);
        if (has("local_batch")) {
            out_.set("local_batch", plan_.pipeline > 1 ? each * parts : each);
            if (plan_.pipeline > 1) out_.set("pipeline_micro_batch", each);
            return;
        }
        if (has("device_batch")) {
            write_device_batch(whole, parts);
            return;
        }
        out_.set("micro_batch", each);
        out_.set("accumulation", parts);
    }

    void write_device_batch(std::int64_t whole, std::int64_t parts) {
        const bool pipelined = plan_.pipeline > 1;
        const std::int64_t at_once = pipelined ? whole : whole / parts;
        const auto chips = static_cast<double>(job_.chips);
        double each = static_cast<double>(at_once) / chips;
        // the framework rounds the product with the chips down
        if (static_cast<std::int64_t>(each * chips) < at_once) each = std::nextafter(each, 2 * each);
        out_.set("device_batch", fmt::format("{}", each));
        if (!pipelined) {
            out_.set("accumulation", parts);
            return;
        }
        out_.set("pipeline_microbatches", parts);
        if (parts % plan_.pipeline != 0) {
            missing(fmt::format("{} microbatches, which are no multiple of {} stages", parts, plan_.pipeline));
        }
    }

    void write_schedule() {
        if (plan_.pipeline == 1) return;
        const Pipeline& pipeline = launch_.schedule;
        const std::int64_t chunks = pipeline.chunks;
        const Schedule others = table_.schedule == "gpipe" ? Schedule::gpipe : Schedule::one_f_one_b;
        const bool named = out_.set("schedule", schedule_name(pipeline.schedule));
        const bool interleaved = pipeline.schedule == Schedule::interleaved;
        if (!named && pipeline.schedule != others && !interleaved) {
            missing(fmt::format("the schedule {}", schedule_text(pipeline)));
        }
        const LaunchSetting* const each = table_.of_key("chunk_layers");
        if (!interleaved && (each == nullptr || each->otherwise.empty())) return;
        if (out_.set("chunks", chunks)) return;
        if (job_.layers % (chunks * plan_.pipeline) == 0 &&
            out_.set("chunk_layers", job_.layers / (chunks * plan_.pipeline))) {
            out_.set("first_less", "0");
            out_.set("last_less", "0");
            return;
        }
        missing(fmt::format("{} virtual stages of each of {}, which do not divide {} layers", chunks, plan_.pipeline,
                            job_.layers));
    }

    void write_remat() {
        if (!launch_.remat) return;
        const TrainingOptions& options = *launch_.remat;
        const std::string policy = options.remat == Remat::none        ? "none"
                                   : options.remat == Remat::selective ? "selective"
                                   : options.remat == Remat::alternate ? "alternate"
                                   : options.remat == Remat::full      ? "full"
                                                                  : fmt::format("{}", fmt::join(options.kept, ","));
        if (policy == "alternate") out_.set("recompute_option", "op");
        if (!out_.set("recompute", policy)) {
            if (policy != "none") missing(fmt::format("recomputation, --remat {}", policy));
            return;
        }
        if (policy == "full" && out_.set("recompute_method", "uniform")) out_.set("recompute_layers", 1);
        if (policy == "selective" && has("recompute_modules")) {
            out_.remark(
                "selective: it recomputes the core of attention alone; the plan recomputes norms and "
                "activation functions, too");
        }
    }

    void write_numbers() {
        out_.set("bf16", "true");
        if (const LaunchSetting* const base = table_.of_key("base")) out_.set("base", base->otherwise);
        if (!launch_.products) return;
        const std::string dtype(name(*launch_.products));
        const bool sets =
            out_.set("fp8", dtype) ||
            (dtype == "nvfp4"   ? out_.set("fp4", dtype)
             : dtype == "mxfp8" ? (has("fp8_recipe") && out_.set("fp8", "fp8") && out_.set("fp8_recipe", dtype)) ||
                                      out_.set("converters", "quantize.linear.mx")
                                : dtype == "fp8" && out_.set("converters", "quantize.linear.float8"));
        if (!sets) missing(fmt::format("matmuls in {}", dtype));
        if (sets && job_.experts && has("converters")) {
            out_.remark(
                "the matmuls of experts stay in bf16: they need the converter quantize.grouped_mm with the names of "
                "their modules");
        }
    }

    void write_optimizer() {
        if (!launch_.optimizer) return;
        const TrainingOptions& options = *launch_.optimizer;
        const std::string kind = options.optimizer == Optimizer::sgd ? "sgd" : "adam";
        if (!out_.set("optimizer", kind)) missing(fmt::format("the optimizer {}", kind));
        if (options.optimizer == Optimizer::sgd) return;
        const std::string moments(name(options.moments));
        if (has("held") && !options.master && options.moments == Dtype::bf16 && !options.f32_gradients &&
            (!has("held_parameters") || plan_.zero > 0 || plan_.fsdp > 1)) {
            out_.set("held", "bf16");
            out_.set("held_parameters", "bf16");
            return;
        }
        if (table_.master && !options.master) missing("no f32 copy of the parameters; it keeps one");
        if (!has("own_precision") && out_.set("gradients", options.f32_gradients ? "f32" : "bf16")) {
            if (options.moments != Dtype::f32) missing(fmt::format("moments in {}", moments));
            return;
        }
        const bool narrow = table_.f32_gradients && !options.f32_gradients;
        if (!narrow && options.moments == Dtype::f32) return;
        // states of other dtypes need its distributed optimizer
        if (!has("own_precision") || (plan_.zero == 0 && plan_.fsdp == 1)) {
            if (options.moments != Dtype::f32) missing(fmt::format("moments in {}", moments));
            if (narrow) missing("gradients in 16 bits; it stores them in f32");
            return;
        }
        out_.set("own_precision", "true");
        if (narrow) out_.set("gradients", "bf16");
        if (options.moments == Dtype::f32) return;
        if (!out_.set("moment", moments) || !out_.set("second_moment", moments)) {
            missing(fmt::format("moments in {}", moments));
        }
    }

    void write_overlap() {
        if (plan_.replicas() > 1 || plan_.fsdp > 1) {
            out_.set("overlap_gradients", "true");
            if (plan_.zero > 0 || plan_.fsdp > 1) out_.set("overlap_parameters", "true");
        }
        if (!launch_.overlapped) return;
        for (const std::string& axis : *launch_.overlapped) {
            if (out_.set("overlap_" + axis, "true")) continue;
            missing(fmt::format("collectives over {} beside matmuls", axis));
        }
    }

    const LaunchTable& table_;
    const TrainingLaunch& launch_;
    const Plan& plan_;
    LaunchJob job_;
    LaunchWriter out_;
    std::vector<std::pair<std::string, std::int64_t>> split_;  ///< degrees by key
};

}  // namespace

EmittedLaunch emit_training(const LaunchTable& table, const TrainingLaunch& launch, const LaunchJob& job,
                            LaunchRemarks known) {
    return LaunchPlanWriter(table, launch, job).write(known);
}

}  // namespace roofline::core
