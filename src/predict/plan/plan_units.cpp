#include "predict/plan/plan_units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "algebra/rational.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t most_splits = 100'000;             // of a unit; 16,384 chips have 1,716 over seven axes
constexpr std::int64_t most_counted = 1'000'000'000'000;  // plans of a space that is refused
constexpr double structure_cost = 400;  // plans that are priced in the time in which a structure is laid out, about

// Counts the choices for plans with the same pipeline and number of members only once.
class ChoiceCounts {
public:
    explicit ChoiceCounts(const PlanSpace& space)
        : space_(space), kinds_(std::ssize(std::set<Remat>(space.remat.begin(), space.remat.end()))) {}

    struct Count {
        std::int64_t plans = 0;
        std::int64_t structures = 0;  ///< kinds of recomputation, with one or several micro-batches
    };
    Count of(const Plan& plan) {
        const auto [known, fresh] = known_.try_emplace(std::pair(plan.data * plan.fsdp * plan.expert, plan.pipeline));
        if (!fresh) return known->second;
        const std::vector<Pipeline> pipelines = pipelines_of(space_, plan);
        std::set<bool> several;
        for (const Pipeline& each : pipelines) several.insert(each.microbatches > 1);
        return known->second = {std::ssize(pipelines) * std::ssize(space_.remat), kinds_ * std::ssize(several)};
    }

private:
    const PlanSpace& space_;
    std::int64_t kinds_;  ///< of recomputation
    std::map<std::pair<std::int64_t, std::int64_t>, Count> known_;
};

// Plans of one ZeRO stage.
PlanSpace with_zero(const PlanSpace& space, int zero) {
    PlanSpace one = space;
    one.zero = {zero};
    return one;
}

// Counts the plans with the same axes. Each ZeRO stage has as many where weights have replicas, and stages above 0 none
// otherwise, so ZeRO-0 is counted for all: `unsharded` is its space.
std::vector<PlanUnit> units_with(const PlanSpace& space, const PlanSpace& unsharded, PlanAxes axes,
                                 ChoiceCounts& counts, AxisOrders& orders) {
    PlanUnit unit;
    unit.axes = axes;
    std::int64_t structures = 0;
    bool replicas = false;
    const auto visited = visit_plans(
        unsharded, axes,
        [&](const Plan& plan) {
            const auto count = counts.of(plan);
            unit.plans += count.plans * orders.count(plan);
            const std::int64_t stages = std::min<std::int64_t>(plan.pipeline, 3);  // first, middle, last
            structures = std::max(structures, count.structures * stages);
            replicas = plan.replicas() > 1;
            return true;
        },
        most_splits);
    unit.counted = visited.all;
    unit.cost = structure_cost * static_cast<double>(structures);
    std::vector<PlanUnit> units;
    for (const int zero : space.zero) {
        PlanUnit& each = units.emplace_back(unit);
        each.zero = zero;
        if (zero > 0 && !replicas) each.plans = 0;
        // a split that does not divide is counted once
        if (zero == space.zero.front()) each.undivided = visited.undivided;
    }
    return units;
}

// Every unit may search as many plans as any other, and what small ones leave is shared among the others.
void share_out(std::vector<PlanUnit>& units, std::int64_t limit) {
    std::vector<PlanUnit*> smallest;
    for (PlanUnit& unit : units) smallest.push_back(&unit);
    std::sort(smallest.begin(), smallest.end(), [](const PlanUnit* a, const PlanUnit* b) {
        return std::pair(a->plans, a->number) < std::pair(b->plans, b->number);
    });
    std::int64_t left = std::ssize(smallest);
    for (PlanUnit* const unit : smallest) {
        unit->searched = std::min(unit->plans, (limit + left - 1) / left);
        limit -= unit->searched;
        --left;
    }
}

}  // namespace

bool PlanUnit::searches(std::int64_t begin, std::int64_t end) const {
    if (searched == plans) return true;
    const auto before = [&](std::int64_t place) {
        return static_cast<std::int64_t>(static_cast<Int128>(place) * searched / plans);
    };
    return before(end) > before(begin);
}

void visit_unit(const PlanSpace& space, const PlanUnit& unit, const std::function<bool(const Plan&)>& visit) {
    visit_plans(with_zero(space, unit.zero), unit.axes, visit, most_splits);
}

Result<std::vector<PlanUnit>> units_of(const PlanSpace& space, std::optional<std::int64_t> limit) {
    std::vector<PlanAxes> all;
    for (unsigned long bits = 0; bits < 1UL << PlanAxes{}.size(); ++bits) all.emplace_back(bits);
    std::sort(all.begin(), all.end(), [](const PlanAxes& a, const PlanAxes& b) {
        return std::pair(a.count(), a.to_ulong()) < std::pair(b.count(), b.to_ulong());
    });
    std::vector<PlanUnit> units;
    const PlanSpace unsharded = with_zero(space, 0);
    ChoiceCounts counts(space);
    AxisOrders orders(space.slice, space.placed);
    std::int64_t plans = 0;
    bool counted = true;
    for (const PlanAxes& axes : all) {
        for (PlanUnit& unit : units_with(space, unsharded, axes, counts, orders)) {
            plans += unit.plans;
            counted = counted && unit.counted;
            unit.number = std::ssize(units);
            if (unit.plans + unit.undivided > 0) units.push_back(unit);
        }
        if (limit || plans <= (counted ? most_counted : most_plans)) continue;
        counted = false;  // the space is refused, and its number of plans known well enough
        break;
    }
    if (!limit && (plans > most_plans || !counted)) {
        return fail("too_many_plans",
                    fmt::format("the space has {}{} plans, and at most {} are searched", counted ? "" : "more than ",
                                plans, most_plans),
                    "fix degrees or micro-batches, leave axes out, or limit the number of plans");
    }
    if (limit) {
        share_out(units, *limit);
    } else {
        for (PlanUnit& unit : units) unit.searched = unit.plans;
    }
    for (PlanUnit& unit : units) unit.cost += static_cast<double>(unit.searched);
    return units;
}

std::vector<PlanUnit> units_of_part(std::vector<PlanUnit> units, PlanPart part) {
    if (part.apart) {
        const bool leading = part.number == 0;
        std::erase_if(units, [&](const PlanUnit& unit) { return (unit.number < leading_units) != leading; });
        if (leading) return units;
    }
    std::sort(units.begin(), units.end(), [](const PlanUnit& a, const PlanUnit& b) {
        return std::tuple(-a.cost, a.number) < std::tuple(-b.cost, b.number);
    });
    std::set<std::pair<double, std::int64_t>> loads;  // the part with the least work comes first
    const std::int64_t used = std::min<std::int64_t>(part.of, std::ssize(units));
    for (std::int64_t number = 1; number <= used; ++number) loads.emplace(0, number);
    std::vector<PlanUnit> mine;
    for (const PlanUnit& unit : units) {
        const auto [load, number] = *loads.begin();
        loads.erase(loads.begin());
        loads.emplace(load + unit.cost, number);
        if (number == part.number) mine.push_back(unit);
    }
    return mine;
}

}  // namespace roofline::core
