#include "plan/excluded_plans.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <set>

#include "text/enumerated.hpp"

namespace roofline::core {

namespace {

bool has_plans(const PlanSpace& space) {
    bool any = false;
    for_each_plan(space, [&](const Plan& plan) { any = any || !choices_of(space, plan).empty(); });
    return any;
}

std::vector<std::int64_t> microbatches_of(const PlanSpace& space) {
    std::set<std::int64_t> all;
    for_each_plan(space, [&](const Plan& plan) {
        for (const PlanChoice& choice : choices_of(space, plan)) all.insert(choice.microbatches);
    });
    return {all.begin(), all.end()};
}

struct GivenOption {
    std::string text;
    std::string remedy;  ///< if it is the only one
    std::function<void(PlanSpace&)> give_up;
};

// What the user said of a space.
std::vector<GivenOption> options_of(const PlanSpace& space) {
    std::vector<GivenOption> options;
    if (space.microbatches) {
        options.push_back({fmt::format("--microbatches {}", *space.microbatches), "leave it out",
                           [](PlanSpace& each) { each.microbatches.reset(); }});
    }
    if (space.schedules.size() == 1) {
        const Pipeline schedule{space.schedules.front(), 1, 1, space.chunks.value_or(2), 0};
        options.push_back({fmt::format("--schedule {}", schedule_text(schedule)),
                           "leave it out, or give another schedule", [](PlanSpace& each) {
                               each.schedules = PlanSpace{}.schedules;
                               each.chunks.reset();
                           }});
    }
    if (space.zero.size() == 1) {
        options.push_back({fmt::format("--zero {}", space.zero.front()),
                           "leave it out, or let plans have replicas, over which it shards",
                           [](PlanSpace& each) { each.zero = PlanSpace{}.zero; }});
    }
    if (!space.without.empty()) {
        options.push_back({fmt::format("--without {}", fmt::join(space.without, ",")), "leave out fewer axes",
                           [](PlanSpace& each) { each.without.clear(); }});
    }
    if (!space.fixed.empty()) {
        std::vector<std::string> degrees;
        for (const auto& [axis, degree] : space.fixed) degrees.push_back(fmt::format("{}={}", axis, degree));
        options.push_back({fmt::format("--mesh {}", fmt::join(degrees, ",")), "fix fewer axes, or other degrees",
                           [](PlanSpace& each) {
                               each.fixed.clear();
                               each.placed.clear();
                           }});
    }
    return options;
}

}  // namespace

std::string ExcludingOptions::message() const {
    return fmt::format("{} {} every plan", enumerated(options), options.size() == 1 ? "excludes" : "together exclude");
}

std::string ExcludingOptions::remedy() const {
    constexpr std::size_t most = 12;
    if (options.size() > 1) return each_alone ? "change one of them" : "leave them out";
    if (microbatches.empty()) return alone;
    std::vector<std::int64_t> few = microbatches;
    if (few.size() <= most) return fmt::format("leave it out, or give one of {}", enumerated(few));
    few.resize(most);
    return fmt::format("leave it out, or give one of {} ...", fmt::join(few, ", "));
}

std::optional<ExcludingOptions> excluding_options(const PlanSpace& space) {
    const std::vector<GivenOption> options = options_of(space);
    ExcludingOptions found;
    for (const GivenOption& option : options) {
        PlanSpace without = space;
        option.give_up(without);
        if (!has_plans(without)) continue;
        found.options.push_back(option.text);
        found.alone = option.remedy;
        if (!without.microbatches && space.microbatches) found.microbatches = microbatches_of(without);
    }
    if (found.options.size() > 1) found.microbatches.clear();
    if (!found.options.empty()) return found;
    PlanSpace without = space;
    found.each_alone = false;
    for (const GivenOption& option : options) {
        option.give_up(without);
        found.options.push_back(option.text);
    }
    if (options.empty() || !has_plans(without)) return std::nullopt;
    return found;
}

}  // namespace roofline::core
