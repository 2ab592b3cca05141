// The schedule of a launch, and its batch.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "import/launch/launch_plan_reader.hpp"
#include "import/launch/slice_degrees.hpp"

namespace roofline::core {

Status LaunchPlanReader::read_schedule() {
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
            return values_.fail_at("chunk_layers", "bad_plan",
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

std::int64_t LaunchPlanReader::whole_number(std::string_view key) const {
    const std::string text = values_.text(key);
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return std::clamp<std::int64_t>(number, 0, 1000);
}

Status LaunchPlanReader::divide(std::int64_t all, std::int64_t parts, std::string_view key, std::int64_t& result) {
    if (parts == 0 || all % parts != 0) {
        return values_.fail_at(key, "bad_plan", fmt::format("{} sequences do not divide into parts of {}", all, parts),
                               "change it, or --on");
    }
    result = all / parts;
    return {};
}

Status LaunchPlanReader::read_batch() {
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
                                   fmt::format("{} sequences in parts of {} on {} replicas are {} microbatches", *whole,
                                               *micro, replicas, parts),
                                   "change one of them, or --on");
        }
    }
    launch_.microbatches = parts;
    launch_.sequences = product_of({at_once, parts});
    return {};
}

// All microbatches of a plan are in the pipeline together.
Status LaunchPlanReader::one_pass(std::int64_t passes, std::string_view key, std::string remedy) const {
    if (passes <= 1) return {};
    return values_.fail_at(
        key, "bad_plan",
        fmt::format("gradients are accumulated over {} passes through the pipeline: no plan can express that", passes),
        std::move(remedy));
}

// A batch of a replica, which a pipeline divides.
Status LaunchPlanReader::read_local_batch(std::int64_t replicas) {
    const auto local = values_.number("local_batch");
    if (!local) return {};
    const std::int64_t at_once = product_of({*local, replicas});
    const std::int64_t whole = values_.number("global_batch").value_or(at_once);
    std::int64_t steps = 1;
    ROOFLINE_CHECK(divide(whole, at_once, "global_batch", steps));
    std::int64_t parts = 1;
    if (launch_.plan.pipeline > 1) {
        ROOFLINE_CHECK(
            one_pass(steps, "global_batch", fmt::format("make {} {}", values_.written("local_batch"), *local * steps)));
        ROOFLINE_CHECK(divide(*local, degree("pipeline_micro_batch"), "pipeline_micro_batch", parts));
    }
    launch_.microbatches = product_of({steps, parts});
    launch_.sequences = whole;
    return {};
}

// A batch of a chip, which may be a part of a sequence.
Status LaunchPlanReader::read_device_batch() {
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
        ROOFLINE_CHECK(one_pass(steps, "accumulation", "raise the microbatches of the pipeline instead"));
        parts = values_.number("pipeline_microbatches").value_or(launch_.plan.pipeline);
        std::int64_t micro = 0;
        ROOFLINE_CHECK(divide(whole, parts, "pipeline_microbatches", micro));
    }
    launch_.microbatches = product_of({steps, parts});
    launch_.sequences = product_of({whole, steps});
    return {};
}

}  // namespace roofline::core
