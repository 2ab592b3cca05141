#include "import/launch/serving_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace roofline::core {

namespace {

/// Degrees of a server, as it is told them.
struct ServerDegrees {
    std::int64_t tensor = 1;
    std::int64_t pipeline = 1;
    std::int64_t data = 1;
    bool attention_by_data = false;  ///< `data` lies inside of `tensor`
    std::int64_t expert = 1;         ///< chips that experts are spread over
};

Status check_chips(const LaunchValues& values, const ServerDegrees& degrees, std::int64_t chips) {
    std::int64_t all = 0;
    const bool beyond = __builtin_mul_overflow(degrees.tensor, degrees.pipeline, &all) ||
                        __builtin_mul_overflow(all, degrees.attention_by_data ? 1 : degrees.data, &all);
    if (!beyond && all == chips) return {};
    return values.fail_at(
        "tensor", "bad_plan",
        fmt::format("tensor {} x pipeline {}{} is {}, and --on has {} chips", degrees.tensor, degrees.pipeline,
                    degrees.attention_by_data ? "" : fmt::format(" x data {}", degrees.data),
                    beyond ? "too many" : fmt::format("{}", all), chips),
        "give the slice that one such server runs on");
}

Result<ServerDegrees> degrees_of(const LaunchValues& values, bool experts) {
    ServerDegrees degrees;
    degrees.tensor = values.number("tensor").value_or(1);
    degrees.pipeline = values.number("pipeline").value_or(1);
    degrees.data = values.number("data").value_or(1);
    // where all chips are replicas of attention, their number is not said
    const bool all_by_data = values.table().of_key("data") == nullptr;
    if (all_by_data && values.on("attention_by_data")) degrees.data = degrees.tensor;
    degrees.attention_by_data = values.on("attention_by_data") && degrees.data > 1;
    degrees.expert = values.number("expert").value_or(1);
    if (const auto columns = values.number("expert_columns")) {
        // a degree of experts' columns leaves the rest of the tensor axis to whole experts
        const std::int64_t whole =
            values.number("expert").value_or(std::max<std::int64_t>(degrees.tensor / *columns, 1));
        if (degrees.tensor % *columns != 0 || degrees.tensor / *columns != whole) {
            return values.fail_at(
                "expert_columns", "contradiction",
                fmt::format("columns of experts over {} chips and whole experts over {} are not the {} of {}", *columns,
                            whole, degrees.tensor, values.written("tensor")),
                "their product is that of the tensor axis");
        }
        degrees.expert = whole;
    }
    if (values.on("experts_whole")) degrees.expert = degrees.tensor * degrees.data;
    if (values.table().attention_within_tensor && values.text("exchange") == "deepep") degrees.expert = degrees.tensor;
    if (degrees.expert > 1 && !experts) {
        return values.fail_at(values.stated("expert") ? "expert" : "experts_whole", "bad_plan",
                              "the model has no experts", "remove it, or take another model");
    }
    return degrees;
}

// Experts that no plan places so.
Status check_experts(const LaunchValues& values, const ServerDegrees& degrees, bool experts) {
    const bool inside = values.table().attention_within_tensor;
    if (degrees.attention_by_data && degrees.tensor % degrees.data != 0) {
        return values.fail_at(
            "data", "bad_plan",
            fmt::format("{} replicas of attention do not divide {} chips", degrees.data, degrees.tensor),
            "make it a divisor");
    }
    if (degrees.attention_by_data && degrees.expert != degrees.tensor) {
        return values.fail_at("attention_by_data", "bad_plan",
                              "attention by data beside an MLP or experts split by columns: no plan can express that",
                              experts ? fmt::format("add {} {}", values.written("expert"), degrees.tensor)
                                      : "use it for models with experts");
    }
    if (inside && degrees.expert > 1 && degrees.expert != degrees.tensor) {
        return values.fail_at("expert", "bad_plan",
                              fmt::format("whole experts on {} of {} chips, split by columns over the others: no plan "
                                          "can express that",
                                          degrees.expert, degrees.tensor),
                              fmt::format("make it 1 or {}", degrees.tensor));
    }
    if (!inside && experts && degrees.data > 1 && degrees.expert == 1) {
        return values.fail_at("data", "bad_plan",
                              "experts are split by columns over replicas, too: no plan can express that",
                              fmt::format("add {}, or start servers of their own", values.written("experts_whole")));
    }
    return {};
}

Result<Plan> plan_of_server(const LaunchValues& values, const ServerDegrees& degrees) {
    Plan plan;
    plan.pipeline = degrees.pipeline;
    plan.tensor = degrees.attention_by_data ? degrees.tensor / degrees.data : degrees.tensor;
    plan.data = degrees.data;
    if (degrees.expert == 1) return plan;
    auto placed = with_experts_on_same_chips(plan, degrees.expert);
    if (placed) return placed;
    return values.fail_at("tensor", "bad_plan", placed.error().message, placed.error().hint);
}

class ServerWriter {
public:
    ServerWriter(const LaunchTable& table, const ServingLaunch& launch, bool experts)
        : table_(table), launch_(launch), plan_(launch.plan), experts_(experts), out_(table) {}

    EmittedLaunch write() {
        write_degrees();
        write_limits();
        write_numbers();
        if (!launch_.exchange.empty() && !out_.set("exchange", launch_.exchange)) {
            missing(fmt::format("the exchange of tokens by {}", launch_.exchange));
        }
        if (launch_.two_batches && !out_.set("two_batches", "true")) missing("two batches that overlap");
        if (!plan_.links.empty()) missing("the links of axes; ranks lie as the framework orders them");
        if (launch_.pool != LaunchedPool::none) out_.pool(launch_.pool == LaunchedPool::prefill);
        if (!table_.note.empty()) out_.remark(table_.note);
        const std::string kind = launch_.pool == LaunchedPool::prefill  ? "servers that prefill, "
                                 : launch_.pool == LaunchedPool::decode ? "servers that decode, "
                                                                        : "";
        return std::move(out_).written(kind + launch_heading(plan_, plan_.chips()));
    }

private:
    void missing(const std::string& what) { out_.remark("not expressed: " + what); }

    void write_degrees() {
        for (const auto& [axis, degree] : {std::pair{"fsdp", plan_.fsdp}, std::pair{"context", plan_.context},
                                           std::pair{"sequence", plan_.sequence}}) {
            if (degree > 1) missing(fmt::format("{}={}", axis, degree));
        }
        const bool spread = plan_.expert > 1 || plan_.experts_over_tensor;
        if (table_.of_key("data") == nullptr && plan_.expert > 1 && plan_.tensor > 1) {
            missing(fmt::format("attention over {} chips in {} replicas; in each of its replicas one chip computes it",
                                plan_.tensor, plan_.expert));
        }
        if (plan_.expert > 1 && plan_.tensor > 1 && !plan_.experts_over_tensor) {
            missing("experts split by columns over tensor; it keeps them whole there");
        }
        std::int64_t data = plan_.expert;
        std::int64_t servers = plan_.data;
        const bool has_data = table_.of_key("data") != nullptr;
        if (plan_.expert == 1 && has_data && (!experts_ || table_.attention_within_tensor)) {
            data = plan_.data;
            servers = 1;
        }
        const std::int64_t chips = plan_.chips() / servers;
        servers *= launch_.workers;
        if (servers > 1)
            out_.remark(fmt::format("start {} such servers of {} each", servers,
                                    chips == 1 ? "one chip" : fmt::format("{} chips", chips)));
        const bool inside = table_.attention_within_tensor && plan_.expert > 1;
        out_.set("tensor", inside ? plan_.tensor * plan_.expert : plan_.tensor);
        out_.set("pipeline", plan_.pipeline);
        out_.set("data", data);
        if (inside) out_.set("attention_by_data", "true");
        if (!spread) return;
        if (!out_.set("expert", plan_.tensor * plan_.expert)) out_.set("experts_whole", "true");
    }

    void write_limits() {
        const std::int64_t replicas = plan_.data * plan_.expert;
        const bool inside = table_.attention_within_tensor && plan_.expert > 1 && !table_.limits_each;
        if (launch_.batch) {
            const std::int64_t each = (*launch_.batch + replicas - 1) / replicas;
            out_.set("batch", inside ? each * plan_.expert : each);
        }
        if (launch_.chunk) {
            out_.set("chunk", inside ? *launch_.chunk * plan_.expert : *launch_.chunk);
            out_.set("chunked", "true");
        }
        if (launch_.block) out_.set("block", *launch_.block);
        if (launch_.memory_fraction && !out_.set("memory_fraction", fmt::format("{}", *launch_.memory_fraction))) {
            missing(fmt::format("{} of a chip's memory; it is told a part of what weights leave",
                                *launch_.memory_fraction));
        }
    }

    void write_numbers() {
        if (!launch_.kv_dtype.empty() && !out_.set("kv_dtype", launch_.kv_dtype)) {
            missing(fmt::format("a KV cache in {}", launch_.kv_dtype));
        }
        if (launch_.weights == "fp8" && out_.set("weights", "fp8")) return;
        if (!launch_.weights.empty()) {
            missing(fmt::format("weights in {}; name a checkpoint that has them", launch_.weights));
        }
    }

    const LaunchTable& table_;
    const ServingLaunch& launch_;
    const Plan& plan_;
    bool experts_;
    LaunchWriter out_;
};

}  // namespace

Result<ServingLaunch> serving_launch(const LaunchValues& values, std::int64_t chips, bool experts) {
    ROOFLINE_TRY(const auto degrees, degrees_of(values, experts));
    ROOFLINE_CHECK(check_chips(values, degrees, chips));
    ROOFLINE_CHECK(check_experts(values, degrees, experts));
    ServingLaunch launch;
    launch.notes = values.notes();
    ROOFLINE_TRY(launch.plan, plan_of_server(values, degrees));
    const std::int64_t replicas = degrees.attention_by_data ? 1 : degrees.data;
    const bool each = values.table().limits_each;
    if (const auto batch = values.number("batch")) launch.batch = *batch * (each ? degrees.data : replicas);
    if (const auto chunk = values.number("chunk")) {
        const bool shared = degrees.attention_by_data && !each;
        launch.chunk = shared ? std::max<std::int64_t>(*chunk / degrees.data, 1) : *chunk;
    }
    launch.block = values.number("block");
    launch.memory_fraction = values.real("memory_fraction");
    if (launch.memory_fraction && *launch.memory_fraction > 1) {
        return values.fail_at("memory_fraction", "bad_value", "more than the whole memory of a chip",
                              "it is at most 1");
    }
    if (const std::string dtype = values.text("kv_dtype"); dtype != "auto") launch.kv_dtype = dtype;
    if (const std::string method = values.text("weights"); method == "fp8") {
        launch.weights = "fp8";
    } else if (!method.empty()) {
        launch.notes.push_back(fmt::format("{} {}: weights are those of the model's checkpoint",
                                           values.written("weights"), method.substr(0, 40)));
    }
    if (values.stated("exchange") && values.text("exchange") != "none" && degrees.expert > 1) {
        launch.exchange = values.text("exchange");
    }
    launch.two_batches = values.on("two_batches");
    return launch;
}

EmittedLaunch emit_serving(const LaunchTable& table, const ServingLaunch& launch, bool experts) {
    return ServerWriter(table, launch, experts).write();
}

}  // namespace roofline::core
