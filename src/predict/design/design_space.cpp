#include "predict/design/design_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "predict/plan/on_threads.hpp"

namespace roofline::core {

DesignSpace::DesignSpace(const DesignQuestion& question) : question_(question) {
    for (const DesignWorkload& workload : question.workloads) {
        times_.emplace_back();
        for (const DesignPlan& plan : workload.plans) times_.back().emplace_back(question, plan);
    }
}

Status DesignSpace::open() {
    // Costs of each axis's values, and of all that is not varied.
    constant_usd_ = question_.cost.base;
    for (const FigureAxis& axis : question_.axes) {
        machines_ *= static_cast<double>(axis.numbers.size());
        const CostTerm* const term = question_.cost.term(axis.path);
        if (term == nullptr) {
            return fail("no_cost",
                        fmt::format("{} is varied, and {} has no cost for it", axis.path, question_.cost.name),
                        fmt::format("add a [[term]] with figure = \"{}\"", axis.path));
        }
        std::vector<double> usd;
        for (const double number : axis.numbers) {
            ROOFLINE_TRY(usd.emplace_back(), term->cost(question_.base, number));
        }
        usd_.push_back(std::move(usd));
    }
    for (const CostTerm& term : question_.cost.terms) {
        if (std::ranges::any_of(question_.axes, [&](const FigureAxis& axis) { return axis.path == term.path; }))
            continue;
        ROOFLINE_TRY(const auto now, changed_figure(question_.base, term.path + "=*1"));
        ROOFLINE_TRY(const double usd, term.cost(question_.base, now.number));
        constant_usd_ += usd;
    }
    std::vector<DesignTimes*> all;
    for (auto& plans : times_) {
        for (DesignTimes& each : plans) all.push_back(&each);
    }
    std::vector<Status> done(all.size());
    on_threads(all.size(), question_.threads, std::make_shared<Calibrations>(std::vector<Calibration>{}),
               [&](std::size_t i, const auto&) { done[i] = all[i]->probe(); });
    for (std::size_t i = 0; i < all.size(); ++i) ROOFLINE_CHECK(done[i]);
    return {};
}

double DesignSpace::usd_of(const DesignPoint& at) const {
    double usd = constant_usd_;
    for (std::size_t i = 0; i < at.size(); ++i) usd += usd_[i][at[i]];
    return usd;
}

DesignPoint DesignSpace::most() const {
    DesignPoint most;
    for (const FigureAxis& axis : question_.axes) most.push_back(axis.numbers.size() - 1);
    return most;
}

Result<double> DesignSpace::seconds(const DesignPoint& at, std::size_t workload) { return seconds(at, at, workload); }

Result<double> DesignSpace::seconds(const DesignPoint& low, const DesignPoint& high, std::size_t workload) {
    double least = never_s;
    for (DesignTimes& each : times_[workload]) {
        if (each.at_least(low, high) >= least) continue;
        ROOFLINE_TRY(const double here, each.seconds(low, high));
        least = std::min(least, here);
    }
    return least;
}

double DesignSpace::at_least(const DesignPoint& low, const DesignPoint& high, std::size_t workload) const {
    double least = never_s;
    for (const DesignTimes& each : times_[workload]) least = std::min(least, each.at_least(low, high));
    return least;
}

double DesignSpace::at_most(const DesignPoint& low, const DesignPoint& high, std::size_t workload) const {
    double most = never_s;
    for (const DesignTimes& each : times_[workload]) most = std::min(most, each.at_most(low, high));
    return most;
}

// Whether a machine of a box may meet the limits, as far as it is known. Of a single machine: whether it does.
std::optional<bool> DesignSpace::known(const DesignPoint& low, const DesignPoint& high,
                                       const DesignLimits& limits) const {
    bool all = true;
    double least_sum = 0;
    double most_sum = 0;
    for (std::size_t i = 0; i < times_.size(); ++i) {
        if (!limits.each[i]) continue;
        const double least = at_least(low, high, i);
        if (least > *limits.each[i]) return false;
        const double most = at_most(low, high, i);
        all = all && most <= *limits.each[i];
        least_sum += question_.workloads[i].weight * least;
        most_sum += question_.workloads[i].weight * most;
    }
    if (limits.weighted && least_sum > *limits.weighted) return false;
    if (all && (!limits.weighted || most_sum <= *limits.weighted)) return true;
    return std::nullopt;
}

// One workload after another, because the first may tell.
Result<bool> DesignSpace::meets(const DesignPoint& low, const DesignPoint& high, const DesignLimits& limits) {
    for (std::size_t i = 0; i < times_.size(); ++i) {
        if (const auto told = known(low, high, limits)) return *told;
        if (!limits.each[i]) continue;
        if (!limits.weighted && at_most(low, high, i) <= *limits.each[i]) continue;
        ROOFLINE_CHECK(seconds(low, high, i));
    }
    // Where times contradict one another, what is known tells less than the times themselves.
    double sum = 0;
    for (std::size_t i = 0; i < times_.size(); ++i) {
        if (!limits.each[i]) continue;
        ROOFLINE_TRY(const double here, seconds(low, high, i));
        if (here > *limits.each[i]) return false;
        sum += question_.workloads[i].weight * here;
    }
    return !limits.weighted || sum <= *limits.weighted;
}

DesignSpace::Box DesignSpace::box(DesignPoint low, DesignPoint high) const {
    const double usd = usd_of(low);
    return {usd, std::move(low), std::move(high)};
}

// The side along which costs differ most.
std::size_t DesignSpace::longest(const DesignPoint& low, const DesignPoint& high) const {
    std::size_t longest = 0;
    double most = -1;
    for (std::size_t i = 0; i < low.size(); ++i) {
        const double differs = usd_[i][high[i]] - usd_[i][low[i]];
        if (low[i] == high[i] || differs <= most) continue;
        most = differs;
        longest = i;
    }
    return longest;
}

std::pair<DesignSpace::Box, DesignSpace::Box> DesignSpace::halves(const Box& whole) const {
    const auto& [usd, low, high] = whole;
    const std::size_t axis = longest(low, high);
    const std::size_t middle = (low[axis] + high[axis]) / 2;
    DesignPoint first = high;
    first[axis] = middle;
    DesignPoint second = low;
    second[axis] = middle + 1;
    return {box(low, std::move(first)), box(std::move(second), high)};
}

// What the search needs now, its next box if this one may hold the machine, and the next ones if it does not, until
// there is something to do for every thread. The search itself then asks in the same order as without.
void DesignSpace::predict_ahead(const Box& first, const std::set<Box>& next, const DesignLimits& limits) {
    std::vector<std::pair<DesignTimes*, DesignPoint>> tasks;
    const auto add = [&](const Box& each) {
        const auto& [usd, low, high] = each;
        if (known(low, high, limits)) return false;
        const std::size_t before = tasks.size();
        for (std::size_t i = 0; i < times_.size(); ++i) {
            if (!limits.each[i]) continue;
            if (!limits.weighted && at_most(low, high, i) <= *limits.each[i]) continue;
            for (DesignTimes& times : times_[i]) {
                auto at = times.lacks(high);
                if (!at || std::ranges::any_of(
                               tasks, [&](const auto& task) { return task.first == &times && task.second == *at; }))
                    continue;
                tasks.emplace_back(&times, std::move(*at));
            }
        }
        return tasks.size() > before;
    };
    if (!add(first)) return;
    if (tasks.size() < question_.threads && std::get<1>(first) != std::get<2>(first)) add(halves(first).first);
    constexpr std::size_t most_looked_at = 64;
    std::size_t looked_at = 0;
    for (const Box& each : next) {
        if (tasks.size() >= question_.threads || ++looked_at > most_looked_at) break;
        add(each);
    }
    on_threads(tasks.size(), question_.threads, std::make_shared<Calibrations>(std::vector<Calibration>{}),
               [&](std::size_t i, const auto&) { tasks[i].first->ahead(tasks[i].second); });
}

Result<std::optional<DesignPoint>> DesignSpace::cheapest(const DesignLimits& limits) {
    std::set<Box> boxes{box(DesignPoint(question_.axes.size(), 0), most())};
    while (!boxes.empty()) {
        const Box whole = std::move(boxes.extract(boxes.begin()).value());
        const auto& [usd, low, high] = whole;
        if (question_.threads > 1) predict_ahead(whole, boxes, limits);
        ROOFLINE_TRY(const bool any, meets(low, high, limits));
        if (!any) continue;
        if (low == high || known(low, low, limits).value_or(false)) return std::optional(low);
        auto [first, second] = halves(whole);
        boxes.insert(std::move(first));
        boxes.insert(std::move(second));
    }
    return std::optional<DesignPoint>();
}

Status DesignSpace::look_around(const DesignPoint& at) {
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
        for (const bool up : {false, true}) {
            DesignPoint beside = at;
            if (up ? at[axis] + 1 == question_.axes[axis].numbers.size() : at[axis] == 0) continue;
            beside[axis] = up ? at[axis] + 1 : at[axis] - 1;
            for (auto& plans : times_) {
                for (DesignTimes& each : plans) ROOFLINE_CHECK(each.seconds(beside, beside));
            }
        }
    }
    return {};
}

}  // namespace roofline::core
