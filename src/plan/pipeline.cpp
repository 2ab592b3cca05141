#include "plan/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr std::pair<std::string_view, Schedule> names[] = {{"gpipe", Schedule::gpipe},
                                                           {"1f1b", Schedule::one_f_one_b},
                                                           {"interleaved", Schedule::interleaved},
                                                           {"zero-bubble", Schedule::zero_bubble}};

constexpr std::int64_t most = std::int64_t{1} << 40;  // products up to this are exact in a double

Status check(const Pipeline& pipeline) {
    const auto [schedule, p, m, v, again] = pipeline;
    if (p < 1 || m < 1 || v < 1) {
        return fail("bad_plan", "a pipeline needs at least one stage, one micro-batch and one virtual stage per stage");
    }
    if (!(again >= 0 && again <= 1))
        return fail("bad_plan", "a backward pass can recompute at most one whole forward pass");
    if (p > most || m > most || v > most)
        return fail("bad_plan", "a pipeline can have at most 2^40 stages and micro-batches");
    const bool interleaved = schedule == Schedule::interleaved;
    if (p > 1 && interleaved != (v > 1)) {
        return fail("bad_plan",
                    interleaved ? std::string("an interleaved schedule with one virtual stage per stage is 1f1b")
                                : fmt::format("{} virtual stages per stage were given, but {} does not interleave", v,
                                              schedule_name(schedule)),
                    interleaved ? "use two or more virtual stages"
                                : "use the schedule `interleaved`, or one virtual stage per stage");
    }
    if (p > 1 && interleaved && m % p != 0) {
        return fail("bad_plan", fmt::format("{} micro-batches are not a multiple of the {} stages", m, p),
                    fmt::format("an interleaved schedule runs micro-batches in groups of that size; use {}",
                                (m + p - 1) / p * p));
    }
    if (schedule == Schedule::zero_bubble && m < p) {
        return fail("bad_plan", fmt::format("{} micro-batches do not fill {} stages", m, p),
                    fmt::format("zero-bubble needs at least {}; 1f1b takes fewer", p));
    }
    return {};
}

}  // namespace

Result<Pipeline> parse_schedule(std::string_view word) {
    constexpr std::string_view chunked = "interleaved:";
    Pipeline pipeline;
    if (word.starts_with(chunked)) {
        const auto chunks = parse_size(word.substr(chunked.size()));
        if (!chunks || *chunks < 2 || *chunks > most) {
            return fail("bad_plan",
                        fmt::format("`{}`: an interleaved schedule needs at least two virtual stages per stage",
                                    word.substr(0, 40)),
                        "write their number, for example interleaved:4");
        }
        pipeline.schedule = Schedule::interleaved;
        pipeline.chunks = *chunks;
        return pipeline;
    }
    std::vector<std::string> known;
    for (const auto& [name, schedule] : names) {
        if (name == word) {
            pipeline.schedule = schedule;
            pipeline.chunks = schedule == Schedule::interleaved ? 2 : 1;
            return pipeline;
        }
        known.emplace_back(name);
    }
    return fail("unknown_name", fmt::format("there is no schedule `{}`", word.substr(0, 40)),
                did_you_mean(word, known, fmt::format("the schedules are {}", fmt::join(known, ", "))));
}

std::string_view schedule_name(Schedule schedule) {
    const auto* const found =
        std::find_if(std::begin(names), std::end(names), [&](const auto& each) { return each.second == schedule; });
    return found->first;
}

std::string schedule_text(const Pipeline& pipeline) {
    const std::string name(schedule_name(pipeline.schedule));
    constexpr std::int64_t usual_chunks = 2;
    if (pipeline.schedule != Schedule::interleaved || pipeline.chunks == usual_chunks) return name;
    return fmt::format("{}:{}", name, pipeline.chunks);
}

double PipelineCost::bubble(std::int64_t stages) const {
    const double waits = fill * static_cast<double>(stages - 1);
    return waits / (1 + waits);
}

Result<PipelineCost> pipeline_cost(const Pipeline& pipeline) {
    ROOFLINE_CHECK(check(pipeline));
    if (pipeline.stages == 1) return PipelineCost{};
    const auto m = static_cast<double>(pipeline.microbatches);
    const auto v = static_cast<double>(pipeline.chunks);
    PipelineCost cost;
    const double again = pipeline.recomputed;
    cost.fill = pipeline.schedule == Schedule::zero_bubble ? (1 + again) / ((3 + again) * m) : 1 / (v * m);
    cost.transfers = 2 * pipeline.microbatches * pipeline.chunks;
    return cost;
}

double held_microbatches(const Pipeline& pipeline, std::int64_t stage) {
    const auto p = static_cast<double>(pipeline.stages);
    const auto m = static_cast<double>(pipeline.microbatches);
    const auto v = static_cast<double>(pipeline.chunks);
    const auto behind = static_cast<double>(pipeline.stages - stage - 1);
    if (pipeline.stages == 1) return 1;
    switch (pipeline.schedule) {
        case Schedule::gpipe:
            return m;
        case Schedule::one_f_one_b:
            return std::min(m, behind + 1);
        case Schedule::interleaved:
            return std::min(m, (2 * behind + (v - 1) * p + 1) / v);
        case Schedule::zero_bubble:
            break;
    }
    return std::min(m, p);
}

}  // namespace roofline::core
