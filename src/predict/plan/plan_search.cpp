#include "predict/plan/plan_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "base/threads.hpp"
#include "model/account.hpp"
#include "plan/training_cost.hpp"
#include "plan/training_peak.hpp"
#include "predict/plan/search_watch.hpp"
#include "predict/plan/unit_results.hpp"
#include "predict/plan/weight_bytes.hpp"
#include "predict/train/framework.hpp"

namespace roofline::core {

namespace {

// Plans that need up to this many times the memory of a chip are priced, too, to tell what more memory would bring.
constexpr double larger_memory = 1.5;
// Of the plans with the same degrees those are kept that are within this of the fastest, because once each is laid out
// alone another may be the fastest.
constexpr double near_fastest = 1.005;
constexpr double near_fastest_experts = 1.1;
constexpr std::size_t most_alike = 4;
constexpr std::size_t most_larger = 16;

using Degrees = PlanDegrees;

bool leads(const PlanUnit& unit) { return unit.number < leading_units; }

bool better(const FoundPlan& a, const FoundPlan& b) {
    return a.order_s != b.order_s ? a.order_s < b.order_s : a.order < b.order;
}

void keep_best(std::vector<FoundPlan>& plans, std::size_t most) {
    std::sort(plans.begin(), plans.end(), better);
    if (plans.size() > most) plans.resize(most);
}

// Keeps the fastest plans of the fastest degrees, at most `most_alike` of the same.
void keep_degrees(std::vector<FoundPlan>& plans, std::size_t kept) {
    std::sort(plans.begin(), plans.end(), better);
    std::map<Degrees, std::size_t> alike;
    std::erase_if(plans, [&](const FoundPlan& plan) {
        const Degrees degrees = degrees_of(plan.setup.plan);
        if (alike.size() == kept && !alike.contains(degrees)) return true;
        return ++alike[degrees] > most_alike;
    });
}

// The same for a part of the plans: what it drops, it drops from all of them together, too, so that parts may be put
// together in any order. The plans of one more set of degrees are kept.
void keep_part(std::vector<FoundPlan>& plans, std::size_t kept) {
    std::sort(plans.begin(), plans.end(), better);
    std::map<Degrees, std::size_t> alike;  // of all plans before the next one
    std::erase_if(plans, [&](const FoundPlan& plan) {
        const bool many = alike.size() > kept;
        return ++alike[degrees_of(plan.setup.plan)] > most_alike || many;
    });
}

bool smaller(const FoundPlan& a, const FoundPlan& b) {
    return std::tie(a.memory, a.order_s, a.order) < std::tie(b.memory, b.order_s, b.order);
}

// Marks plans that none with at most the same memory beats by more than `near_fastest`, because once each is laid out
// alone they may be on the front; of equal ones the first. Of the plans of parts these are those of all plans.
void mark_front(const std::vector<FoundPlan>& plans, std::vector<bool>& kept) {
    double least_s = std::numeric_limits<double>::infinity();
    const FoundPlan* last = nullptr;
    for (std::size_t i = 0; i < plans.size(); ++i) {
        const FoundPlan& plan = plans[i];
        const bool again = last != nullptr && last->memory == plan.memory && last->order_s == plan.order_s;
        last = &plan;
        if (again || plan.order_s > near_fastest * least_s) continue;
        least_s = std::min(least_s, plan.order_s);
        kept[i] = true;
    }
}

// Plans of a front, and the fastest and the smallest of as many sets of degrees as a search for one of both keeps.
void keep_front(std::vector<FoundPlan>& plans, std::size_t kept_degrees) {
    std::sort(plans.begin(), plans.end(), smaller);
    std::vector<bool> kept(plans.size());
    mark_front(plans, kept);
    std::vector<std::size_t> by_time(plans.size());
    std::iota(by_time.begin(), by_time.end(), std::size_t{0});
    std::sort(by_time.begin(), by_time.end(), [&](std::size_t a, std::size_t b) { return better(plans[a], plans[b]); });
    std::set<Degrees> fast;
    for (const std::size_t i : by_time) {
        if (fast.size() <= kept_degrees && fast.insert(degrees_of(plans[i].setup.plan)).second) kept[i] = true;
    }
    std::set<Degrees> small;
    for (std::size_t i = 0; i < plans.size(); ++i) {
        if (small.size() <= kept_degrees && small.insert(degrees_of(plans[i].setup.plan)).second) kept[i] = true;
    }
    std::vector<FoundPlan> front;
    for (std::size_t i = 0; i < plans.size(); ++i) {
        if (kept[i]) front.push_back(std::move(plans[i]));
    }
    plans = std::move(front);
}

// Plans that fit, of a part.
void keep_some(std::vector<FoundPlan>& plans, std::size_t kept, PlanKeep keep) {
    if (keep == PlanKeep::front) {
        keep_front(plans, kept);
    } else {
        keep_part(plans, kept);
    }
}

// What a search knows before it prices a plan.
struct Limits {
    ModelWeights weights;
    std::optional<double> capacity;
    double math_s = 0;  ///< of a step at the peak of all chips; 0: not known
};

class UnitSearch {
public:
    UnitSearch(const PlanJob& job, const Limits& limits, PlanPricer& pricer, AxisOrders& orders, FastestTimes fastest,
               SearchWatch& watch)
        : job_(job), limits_(limits), pricer_(pricer), orders_(orders), fastest_(std::move(fastest)), watch_(watch) {}

    FoundPlans run(const PlanUnit& unit) {
        found_.counts.divides = unit.undivided;
        found_.counted = unit.counted;
        std::int64_t index = 0;
        visit_unit(job_.space, unit, [&](const Plan& plan) {
            const std::int64_t begin = index;
            const std::vector<PlanChoice> choices = choices_of(job_.space, plan);
            const std::int64_t orders = orders_.count(plan);
            index += std::ssize(choices) * orders;
            return !unit.searches(begin, index) || look_at(plan, choices, orders, {unit, begin});
        });
        finish();
        found_.counts.unsearched = unit.plans - found_.counts.looked_at;
        return std::move(found_);
    }

private:
    // Plans of a unit that follow one another.
    struct Run {
        const PlanUnit& unit;
        std::int64_t begin = 0;
        std::int64_t plans = 0;

        // How many of them are searched.
        [[nodiscard]] std::int64_t searched() const {
            if (unit.searched == unit.plans) return plans;
            std::int64_t searched = 0;
            for (std::int64_t i = begin; i < begin + plans; ++i) searched += unit.searches(i, i + 1) ? 1 : 0;
            return searched;
        }
    };

    // Returns whether the search goes on.
    bool look_at(const Plan& plan, const std::vector<PlanChoice>& choices, std::int64_t orders, Run in_orders) {
        // of one structure at a time, schedules together; many micro-batches need the least memory
        TrainSetup setup = job_.base;
        setup.plan = plan;
        setup.plan.tensor_tokens = job_.base.plan.tensor_tokens;
        std::vector<std::pair<PlanChoice, std::int64_t>> in_order;
        std::int64_t plans = 0;
        in_orders.plans = orders;
        for (const PlanChoice& choice : choices) {
            const std::int64_t searched = in_orders.searched();
            if (searched > 0) in_order.emplace_back(choice, in_orders.begin);
            plans += searched;
            in_orders.begin += orders;
        }
        if (limits_.capacity && least_weight_bytes(limits_.weights, plan) > *limits_.capacity * larger_memory) {
            found_.counts.looked_at += plans;
            found_.counts.memory += plans;
            found_.counts.weights += plans;
            return watch_.looked_at(plans);
        }
        std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
            return std::tuple(-a.first.microbatches, a.first.remat, a.second) <
                   std::tuple(-b.first.microbatches, b.first.remat, b.second);
        });
        std::vector<AxisOrder> all;  // only once one of them is priced
        for (const auto& [choice, begin] : in_order) {
            setup.batch.microbatches = choice.microbatches;
            setup.options.remat = choice.remat;
            setup.schedule = choice.schedule;
            in_orders.begin = begin;
            const std::int64_t searched = in_orders.searched();
            found_.counts.looked_at += searched;
            if (least_seconds(setup) > longest(setup)) {
                found_.counts.bound += searched;
            } else {
                if (all.empty()) all = orders_.of(plan);
                price(setup, all, in_orders);
            }
            if (!watch_.looked_at(searched)) return false;
        }
        return true;
    }

    // A stage computes its share of the step, and waits for the others as the schedule says.
    [[nodiscard]] double least_seconds(const TrainSetup& setup) const {
        const auto cost = pipeline_cost(setup.schedule);
        const double others = cost ? cost->fill * static_cast<double>(setup.plan.pipeline - 1) : 0;
        return limits_.math_s * (1 + others);
    }

    // Slower plans are not kept. Plans of a front may be slow, because they need little memory.
    [[nodiscard]] double longest(const TrainSetup& setup) const {
        if (job_.keep == PlanKeep::front) return std::numeric_limits<double>::infinity();
        return fastest_.limit(degrees_of(setup.plan), job_.space.experts > 0 ? near_fastest_experts : near_fastest);
    }

    // Prices one choice in all orders of the axes; if none of them can be among the plans that are kept, one for all.
    void price(TrainSetup& setup, const std::vector<AxisOrder>& orders, const Run& plans) {
        std::int64_t of_first = 1;  // how many the first one stands for
        setup.plan.links = orders.front();
        if (orders.size() > 1) {
            const double limit_s = longest(setup);
            const auto any = pricer_.price_any(setup, orders, {larger_memory, limit_s});
            if (any && (any->known == PricedPlan::Known::bound || any->order_s() > limit_s)) {
                found_.counts.bound += plans.searched();
                return;
            }
            if (any && any->known == PricedPlan::Known::memory) of_first = plans.searched();
        }
        PlanPlace place{plans.unit.number, plans.begin};
        for (const AxisOrder& order : orders) {
            const PlanPlace here = place;
            ++place.index;
            if (!plans.unit.searches(here.index, place.index)) continue;
            setup.plan.links = order;
            price(setup, here);
            if (of_first == 1) continue;
            found_.counts.memory += of_first - 1;
            return;
        }
    }

    void price(const TrainSetup& setup, PlanPlace order) {
        const double limit_s = longest(setup);
        const auto priced = pricer_.price(setup, {larger_memory, limit_s});
        if (!priced) {
            ++found_.counts.unsuited;
            if (!found_.refused || order < found_.refused->order) found_.refused = {order, priced.error().message};
            return;
        }
        if (priced->known == PricedPlan::Known::bound) {
            ++found_.counts.bound;
            return;
        }
        const double seconds = priced->seconds();
        if (priced->known == PricedPlan::Known::all && priced->memory.fits()) {
            ++(seconds > job_.limit_s ? found_.counts.limit : found_.counts.priced);
            if (seconds <= job_.limit_s) watch_.found(seconds);
            fastest_.add(priced->order_s(), degrees_of(setup.plan));
            if (priced->order_s() > limit_s) return;  // it is none of those that are kept
            found_.best.push_back({setup, seconds, priced->order_s(), priced->memory.total(), order});
            if (found_.best.size() >= 4 * most_alike * job_.kept) keep_some(found_.best, job_.kept, job_.keep);
            return;
        }
        ++found_.counts.memory;
        // Where other plans fit, memory is not computed beyond the limit, and no plan that does not fit is asked for.
        if (priced->known != PricedPlan::Known::all && std::isfinite(limit_s)) return;
        FoundPlan plan{setup, seconds, priced->order_s(), priced->memory.total(), order};
        if (!found_.nearest || plan.memory < found_.nearest->memory) found_.nearest = plan;
        if (priced->known != PricedPlan::Known::all) return;
        found_.larger.push_back(std::move(plan));
        if (found_.larger.size() >= 4 * most_larger) keep_best(found_.larger, most_larger);
    }

    // Plans of other units have other structures.
    void finish() {
        keep_some(found_.best, job_.kept, job_.keep);
        keep_best(found_.larger, most_larger);
        found_.counts.compiled = static_cast<std::int64_t>(pricer_.compiled());
        pricer_.forget();
    }

    const PlanJob& job_;
    const Limits& limits_;
    PlanPricer& pricer_;
    AxisOrders& orders_;
    FoundPlans found_;
    FastestTimes fastest_;
    SearchWatch& watch_;
};

Result<Limits> limits_of(const PlanJob& job) {
    Limits limits;
    ROOFLINE_TRY(limits.weights, weights_in_training(job.model, as_held(job.base).options));
    const MemoryLevel* hbm = job.slice.machine.level("hbm");
    if (hbm != nullptr && hbm->total_capacity()) limits.capacity = hbm->total_capacity()->value;
    ROOFLINE_TRY(const auto counts, count_model(job.model));
    ROOFLINE_TRY(auto demand, training_demand(counts, job.slice.machine, job.slice.chips()));
    ROOFLINE_TRY(const auto peak, training_peak(job.slice.machine, job.base.products));
    demand.peak = peak.rate;
    limits.math_s = demand.seconds(static_cast<double>(job.base.batch.tokens), 1);
    return limits;
}

// Searches the units, which begin with the leading ones if their times are not known, on several threads.
std::vector<FoundPlans> search_units(const PlanJob& job, const Limits& limits, const std::vector<PlanUnit>& units,
                                     const PlanSearch& search, SearchWatch& watch) {
    UnitResults results(units.size(), job.kept, search.leading);
    std::atomic<std::size_t> next = 0;
    const auto work = [&](StepPricing pricing) {
        PlanPricer pricer(job.model, job.slice, std::move(pricing));
        AxisOrders orders(job.space.slice, job.space.placed);
        for (std::size_t i = next++; i < units.size(); i = next++) {
            FoundPlans result;
            result.counts.unsearched = units[i].plans;
            if (!watch.stopped()) {
                result = UnitSearch(job, limits, pricer, orders, results.before(units[i].number), watch).run(units[i]);
            }
            results.add(i, std::move(result));
        }
    };
    Threads running;
    for (std::size_t i = 1; i < std::min(search.threads, units.size()); ++i) {
        StepPricing own = job.pricing;  // calibrations are read when they are asked for, each thread its own
        own.calibrations = std::make_shared<Calibrations>(*job.pricing.calibrations);
        running.start(work, std::move(own));
    }
    work(job.pricing);
    running.join();
    return std::move(results.all());
}

void add_part(FoundPlans& all, FoundPlans&& part) {
    all.best.insert(all.best.end(), part.best.begin(), part.best.end());
    all.larger.insert(all.larger.end(), part.larger.begin(), part.larger.end());
    const auto nearer = [](const FoundPlan& a, const FoundPlan& b) {
        return a.memory != b.memory ? a.memory < b.memory : a.order < b.order;
    };
    if (part.nearest && (!all.nearest || nearer(*part.nearest, *all.nearest))) all.nearest = std::move(part.nearest);
    if (part.refused && (!all.refused || part.refused->order < all.refused->order)) {
        all.refused = std::move(part.refused);
    }
    all.counts += part.counts;
    all.stopped = all.stopped || part.stopped;
    all.counted = all.counted && part.counted;
}

// Puts parts together to a part.
FoundPlans add_parts(std::vector<FoundPlans> parts, std::size_t kept, PlanKeep keep) {
    FoundPlans all;
    for (FoundPlans& part : parts) add_part(all, std::move(part));
    keep_some(all.best, kept, keep);
    keep_best(all.larger, most_larger);
    return all;
}

}  // namespace

PlanCounts& PlanCounts::operator+=(const PlanCounts& other) {
    looked_at += other.looked_at;
    priced += other.priced;
    divides += other.divides;
    memory += other.memory;
    weights += other.weights;
    bound += other.bound;
    limit += other.limit;
    unsuited += other.unsuited;
    compiled += other.compiled;
    unsearched += other.unsearched;
    return *this;
}

FoundPlans merge_parts(std::vector<FoundPlans> parts, std::size_t kept, PlanKeep keep) {
    FoundPlans all = add_parts(std::move(parts), kept, keep);
    if (keep == PlanKeep::fastest) keep_degrees(all.best, kept);
    double best_s = std::numeric_limits<double>::infinity();
    for (const FoundPlan& plan : all.best) best_s = std::min(best_s, plan.seconds);
    std::erase_if(all.larger, [&](const FoundPlan& plan) { return plan.seconds >= best_s; });
    return all;
}

Result<FoundPlans> search_plans(const PlanJob& job, const PlanSearch& search) {
    ROOFLINE_TRY(const auto limits, limits_of(job));
    ROOFLINE_TRY(const auto all, units_of(job.space, search.limit));
    const auto leading = std::count_if(all.begin(), all.end(), [](const PlanUnit& unit) { return leads(unit); });
    if (!search.leading.empty() && std::ssize(search.leading) != leading) {
        return fail("bad_part",
                    fmt::format("the space has {} leading sets of axes, and times of {} are given", leading,
                                search.leading.size()),
                    "give the times of all of them, as the search of the leading sets of axes found them");
    }
    std::set<std::int64_t> mine;
    std::int64_t my_plans = 0;
    for (const PlanUnit& unit : units_of_part(all, search.part)) {
        mine.insert(unit.number);
        my_plans += unit.searched;
    }
    std::vector<PlanUnit> units;
    std::int64_t plans = 0;
    for (const PlanUnit& unit : all) {
        const bool needed = leads(unit) && search.leading.empty() && !mine.empty();
        if (!needed && !mine.contains(unit.number)) continue;
        units.push_back(unit);
        plans += unit.searched;
    }
    SearchWatch watch(search.watch, plans);
    std::vector<FoundPlans> results = search_units(job, limits, units, search, watch);
    for (std::size_t i = 0; i < units.size(); ++i) {
        if (!mine.contains(units[i].number)) results[i] = {};
    }
    std::vector<UnitTimes> times;
    if (search.part.apart && search.part.number == 0) {
        for (const FoundPlans& each : results) times.push_back(times_of(each));
    }
    const std::int64_t rest = times.empty() ? 0 : std::ssize(all) - leading;
    const bool whole = search.part == PlanPart{};
    FoundPlans found =
        whole ? merge_parts(std::move(results), job.kept, job.keep) : add_parts(std::move(results), job.kept, job.keep);
    found.leading = std::move(times);
    found.rest = rest;
    found.stopped = found.counts.looked_at < my_plans;
    return found;
}

}  // namespace roofline::core
