#include "predict/plan/plan_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>

#include "model/account.hpp"
#include "plan/training_cost.hpp"
#include "predict/plan/plan_objective.hpp"
#include "predict/plan/weight_bytes.hpp"

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

// Plans with the same axes and ZeRO stage, which share compiled stages.
struct PlanGroup {
    std::vector<std::pair<std::int64_t, Plan>> plans;  ///< with their order
};

// The degrees of a plan: plans that differ in nothing else stand together in an answer.
using Degrees = std::array<std::int64_t, 8>;

Degrees degrees_of(const Plan& plan) {
    return {plan.data,    plan.fsdp,   plan.tensor,   plan.sequence,
            plan.context, plan.expert, plan.pipeline, plan.experts_over_tensor ? 1 : 0};
}

bool better(const FoundPlan& a, const FoundPlan& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.order < b.order;
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

void keep_front(std::vector<FoundPlan>& plans) {
    std::sort(plans.begin(), plans.end(), [](const auto& a, const auto& b) { return a.order < b.order; });
    std::vector<std::pair<double, double>> points;
    for (const FoundPlan& plan : plans) points.emplace_back(plan.seconds, plan.memory);
    std::vector<FoundPlan> front;
    for (const std::size_t i : front_of(points)) front.push_back(std::move(plans[i]));
    plans = std::move(front);
}

// Plans that fit.
void keep(std::vector<FoundPlan>& plans, const PlanJob& job) {
    if (job.keep == PlanKeep::front) {
        keep_front(plans);
    } else {
        keep_degrees(plans, job.kept);
    }
}

// What a search knows before it prices a plan.
struct Limits {
    ModelWeights weights;
    std::optional<double> capacity;
    double math_s = 0;  ///< of a step at the peak of all chips; 0: not known
};

// The times of the fastest plans so far, each with other degrees.
class FastestTimes {
public:
    explicit FastestTimes(std::size_t most) : most_(most) {}

    void add(double seconds, const Degrees& degrees) {
        const auto known = find(degrees);
        if (seconds >= (known == times_.end() ? limit() : known->first)) return;
        if (known != times_.end()) times_.erase(known);
        times_.emplace(std::upper_bound(times_.begin(), times_.end(), std::pair(seconds, degrees)), seconds, degrees);
        if (times_.size() > most_) times_.pop_back();
    }
    // Plans of these degrees that take longer are not among the best, or not the best of their degrees.
    [[nodiscard]] double limit(const Degrees& degrees, double alike) const {
        const auto known = find(degrees);
        return known == times_.end() ? limit() : std::min(limit(), known->first * alike);
    }

private:
    [[nodiscard]] double limit() const {
        return times_.size() < most_ ? std::numeric_limits<double>::infinity() : times_.back().first;
    }

    [[nodiscard]] std::vector<std::pair<double, Degrees>>::const_iterator find(const Degrees& degrees) const {
        return std::find_if(times_.begin(), times_.end(), [&](const auto& each) { return each.second == degrees; });
    }

    std::size_t most_;
    std::vector<std::pair<double, Degrees>> times_;
};

class GroupSearch {
public:
    GroupSearch(const PlanJob& job, const Limits& limits, PlanPricer& pricer, FastestTimes fastest)
        : job_(job), limits_(limits), pricer_(pricer), fastest_(std::move(fastest)) {}

    FoundPlans run(const PlanGroup& group) {
        for (const auto& [order, plan] : group.plans) look_at(plan, order);
        finish();
        return std::move(found_);
    }

private:
    void look_at(const Plan& plan, std::int64_t order) {
        const std::vector<PlanChoice> choices = choices_of(job_.space, plan);
        if (limits_.capacity && least_weight_bytes(limits_.weights, plan) > *limits_.capacity * larger_memory) {
            found_.counts.memory += std::ssize(choices);
            found_.counts.weights += std::ssize(choices);
            return;
        }
        // of one structure at a time, schedules together; many micro-batches need the least memory
        TrainSetup setup = job_.base;
        setup.plan = plan;
        std::vector<std::pair<PlanChoice, std::int64_t>> in_order;
        for (const PlanChoice& choice : choices) in_order.emplace_back(choice, order++);
        std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
            return std::tuple(-a.first.microbatches, a.first.remat, a.second) <
                   std::tuple(-b.first.microbatches, b.first.remat, b.second);
        });
        for (const auto& [choice, place] : in_order) {
            setup.batch.microbatches = choice.microbatches;
            setup.options.remat = choice.remat;
            setup.schedule = choice.schedule;
            price(setup, place);
        }
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

    void price(const TrainSetup& setup, std::int64_t order) {
        const double limit_s = longest(setup);
        if (least_seconds(setup) > limit_s) {
            ++found_.counts.bound;
            return;
        }
        const auto priced = pricer_.price(setup, {larger_memory, limit_s});
        if (!priced) {
            ++found_.counts.unsuited;
            if (found_.refusal.empty()) found_.refusal = priced.error().message;
            return;
        }
        if (priced->known == PricedPlan::Known::bound) {
            ++found_.counts.bound;
            return;
        }
        FoundPlan plan{setup, priced->seconds(), priced->memory.total(), order};
        if (priced->known == PricedPlan::Known::all && priced->memory.fits()) {
            ++(plan.seconds > job_.limit_s ? found_.counts.limit : found_.counts.priced);
            fastest_.add(plan.seconds, degrees_of(plan.setup.plan));
            found_.best.push_back(std::move(plan));
            if (found_.best.size() >= 4 * most_alike * job_.kept) keep(found_.best, job_);
            return;
        }
        ++found_.counts.memory;
        if (!found_.nearest || plan.memory < found_.nearest->memory) found_.nearest = plan;
        if (priced->known != PricedPlan::Known::all) return;
        found_.larger.push_back(std::move(plan));
        if (found_.larger.size() >= 4 * most_larger) keep_best(found_.larger, most_larger);
    }

    // Plans of other groups have other structures.
    void finish() {
        keep(found_.best, job_);
        keep_best(found_.larger, most_larger);
        found_.counts.compiled = static_cast<std::int64_t>(pricer_.compiled());
        pricer_.forget();
    }

    const PlanJob& job_;
    const Limits& limits_;
    PlanPricer& pricer_;
    FoundPlans found_;
    FastestTimes fastest_;
};

// The axes of a plan that make its structure, simple ones first, and its ZeRO stage.
std::vector<int> group_of(const Plan& plan) {
    std::vector<int> key{0};
    for (const auto& [name, degree] : plan_axes(plan)) {
        key.push_back(degree > 1 ? 1 : 0);
        key.front() += key.back();
    }
    key.push_back(plan.experts_over_tensor ? 1 : 0);
    key.push_back(plan.zero);
    return key;
}

std::vector<PlanGroup> groups_of(const PlanJob& job, PlanCounts& counts) {
    std::map<std::vector<int>, PlanGroup> groups;
    std::int64_t order = 0;
    counts.divides = for_each_plan(job.space, [&](const Plan& plan) {
        groups[group_of(plan)].plans.emplace_back(order, plan);
        order += std::ssize(choices_of(job.space, plan));
    });
    counts.looked_at = counts.divides + order;
    std::vector<PlanGroup> sorted;
    for (auto& [axes, group] : groups) sorted.push_back(std::move(group));
    return sorted;
}

// The results of groups that are searched at the same time. How fast the plans of earlier groups are rejects plans of
// later ones. So that the answer is the same on any number of threads, a group knows the results of the first half of
// the groups before it, all of them and no others.
class GroupResults {
public:
    GroupResults(std::size_t groups, std::size_t kept) : none_(kept), results_(groups), done_(groups, false) {}

    [[nodiscard]] FastestTimes before(std::size_t group) {
        std::unique_lock lock(mutex_);
        ended_.wait(lock, [&] { return fastest_.size() >= group / 2; });
        return group / 2 == 0 ? none_ : fastest_[group / 2 - 1];
    }

    void add(std::size_t group, FoundPlans found) {
        const std::scoped_lock lock(mutex_);
        results_[group] = std::move(found);
        done_[group] = true;
        for (std::size_t i = fastest_.size(); i < done_.size() && done_[i]; ++i) {
            fastest_.push_back(i == 0 ? none_ : fastest_.back());
            for (const FoundPlan& plan : results_[i].best)
                fastest_.back().add(plan.seconds, degrees_of(plan.setup.plan));
        }
        ended_.notify_all();
    }

    [[nodiscard]] std::vector<FoundPlans>& all() { return results_; }

private:
    FastestTimes none_;
    std::mutex mutex_;
    std::condition_variable ended_;
    std::vector<FoundPlans> results_;
    std::vector<bool> done_;
    std::vector<FastestTimes> fastest_;  ///< of the first group, the first two groups ...
};

Result<Limits> limits_of(const PlanJob& job) {
    Limits limits;
    ROOFLINE_TRY(limits.weights, weights_in_training(job.model, job.base.options));
    const MemoryLevel* hbm = job.slice.machine.level("hbm");
    if (hbm != nullptr && hbm->total_capacity()) limits.capacity = hbm->total_capacity()->value;
    if (job.base.products) return limits;  // their peak may be higher than the one of the demand
    ROOFLINE_TRY(const auto counts, count_model(job.model));
    ROOFLINE_TRY(const auto demand, training_demand(counts, job.slice.machine, job.slice.chips()));
    limits.math_s = demand.seconds(static_cast<double>(job.base.batch.tokens), 1);
    return limits;
}

void merge(FoundPlans& all, FoundPlans&& one) {
    all.best.insert(all.best.end(), one.best.begin(), one.best.end());
    all.larger.insert(all.larger.end(), one.larger.begin(), one.larger.end());
    const auto nearer = [](const FoundPlan& a, const FoundPlan& b) {
        return a.memory != b.memory ? a.memory < b.memory : a.order < b.order;
    };
    if (one.nearest && (!all.nearest || nearer(*one.nearest, *all.nearest))) all.nearest = one.nearest;
    all.counts += one.counts;
    if (all.refusal.empty()) all.refusal = std::move(one.refusal);
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
    return *this;
}

std::int64_t count_plans(const PlanSpace& space) {
    std::int64_t plans = 0;
    const std::int64_t divides =
        for_each_plan(space, [&](const Plan& plan) { plans += std::ssize(choices_of(space, plan)); });
    return plans + divides;
}

Result<FoundPlans> search_plans(const PlanJob& job, std::size_t threads) {
    ROOFLINE_TRY(const auto limits, limits_of(job));
    FoundPlans all;
    const std::vector<PlanGroup> groups = groups_of(job, all.counts);
    if (all.counts.looked_at > most_plans) {
        return fail(
            "too_many_plans",
            fmt::format("the space has {} plans, and at most {} are searched", all.counts.looked_at, most_plans),
            "fix degrees or micro-batches, or leave axes out");
    }
    GroupResults results(groups.size(), job.kept);
    std::atomic<std::size_t> next = 0;
    const auto work = [&](StepPricing pricing) {
        PlanPricer pricer(job.model, job.slice, std::move(pricing));
        for (std::size_t i = next++; i < groups.size(); i = next++) {
            results.add(i, GroupSearch(job, limits, pricer, results.before(i)).run(groups[i]));
        }
    };
    std::vector<std::thread> running;
    for (std::size_t i = 1; i < std::min(threads, groups.size()); ++i) {
        StepPricing own = job.pricing;  // calibrations are read when they are asked for, each thread its own
        own.calibrations = std::make_shared<Calibrations>(*job.pricing.calibrations);
        running.emplace_back(work, std::move(own));
    }
    work(job.pricing);
    for (std::thread& thread : running) thread.join();
    for (FoundPlans& one : results.all()) merge(all, std::move(one));
    keep(all.best, job);
    const double best_s = all.best.empty() ? std::numeric_limits<double>::infinity() : all.best.front().seconds;
    std::erase_if(all.larger, [&](const FoundPlan& plan) { return plan.seconds >= best_s; });
    keep_best(all.larger, most_larger);
    return all;
}

}  // namespace roofline::core
