#include "plan/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace roofline {

namespace {

constexpr std::array<std::pair<std::string_view, Schedule>, 4> names{{{"gpipe", Schedule::gpipe},
                                                                      {"1f1b", Schedule::one_f_one_b},
                                                                      {"interleaved", Schedule::interleaved},
                                                                      {"zero-bubble", Schedule::zero_bubble}}};

Status check(const Pipeline& pipeline) {
    const auto [schedule, p, m, v] = pipeline;
    if (p < 1 || m < 1 || v < 1) {
        return fail("bad_plan", "a pipeline has at least one stage, one microbatch and one chunk a stage");
    }
    constexpr std::int64_t most = std::int64_t{1} << 40;  // of products that stay exact in a double
    if (p > most || m > most || v > most)
        return fail("bad_plan", "a pipeline of more than 2^40 stages or microbatches");
    const bool interleaved = schedule == Schedule::interleaved;
    if (p > 1 && interleaved != (v > 1)) {
        return fail("bad_plan",
                    interleaved
                        ? std::string("an interleaved schedule of one chunk a stage is 1f1b")
                        : fmt::format("{} chunks a stage, and {} does not interleave them", v, schedule_name(schedule)),
                    interleaved ? "take two chunks or more" : "take the schedule `interleaved`, or one chunk");
    }
    if (p > 1 && interleaved && m % p != 0) {
        return fail("bad_plan", fmt::format("{} microbatches are no multiple of the {} stages", m, p),
                    fmt::format("an interleaved schedule goes in groups of as many: take {}", (m + p - 1) / p * p));
    }
    if (schedule == Schedule::zero_bubble && m < p) {
        return fail("bad_plan", fmt::format("{} microbatches do not fill {} stages", m, p),
                    fmt::format("zero-bubble needs at least {}; 1f1b takes fewer", p));
    }
    return {};
}

}  // namespace

Result<Schedule> parse_schedule(std::string_view word) {
    std::vector<std::string> known;
    for (const auto& [name, schedule] : names) {
        if (name == word) return schedule;
        known.emplace_back(name);
    }
    return fail("unknown_name", fmt::format("no schedule `{}`", word.substr(0, 40)),
                did_you_mean(word, known, fmt::format("there are {}", fmt::join(known, ", "))));
}

std::string_view schedule_name(Schedule schedule) {
    const auto* const found =
        std::find_if(names.begin(), names.end(), [&](const auto& each) { return each.second == schedule; });
    return found->first;
}

Result<PipelineCost> pipeline_cost(const Pipeline& pipeline) {
    if (auto status = check(pipeline); !status) return fail(status.error());
    if (pipeline.stages == 1) return PipelineCost{0, 1, 0};
    const auto p = static_cast<double>(pipeline.stages);
    const auto m = static_cast<double>(pipeline.microbatches);
    const auto v = static_cast<double>(pipeline.chunks);
    const double parts = pipeline.schedule == Schedule::zero_bubble ? 3 * m : v * m;
    PipelineCost cost;
    cost.bubble = (p - 1) / (parts + p - 1);
    cost.held = pipeline.schedule == Schedule::gpipe ? m : std::min(m, p + (v > 1 ? (p - 1) / v : 0));
    cost.transfers = 2 * pipeline.microbatches * pipeline.chunks;
    return cost;
}

}  // namespace roofline
