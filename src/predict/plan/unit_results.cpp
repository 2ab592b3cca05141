#include "predict/plan/unit_results.hpp"

#include <algorithm>
#include <limits>

namespace roofline::core {

PlanDegrees degrees_of(const Plan& plan) {
    return {plan.data,    plan.fsdp,   plan.tensor,   plan.sequence,
            plan.context, plan.expert, plan.pipeline, plan.experts_over_tensor ? 1 : 0};
}

UnitTimes times_of(const FoundPlans& unit) {
    UnitTimes times;
    for (const FoundPlan& plan : unit.best) times.emplace_back(plan.order_s, degrees_of(plan.setup.plan));
    return times;
}

void FastestTimes::add(double seconds, const PlanDegrees& degrees) {
    const auto known = find(degrees);
    if (seconds >= (known == times_.end() ? limit() : known->first)) return;
    if (known != times_.end()) times_.erase(known);
    times_.emplace(std::upper_bound(times_.begin(), times_.end(), std::pair(seconds, degrees)), seconds, degrees);
    if (times_.size() > most_) times_.pop_back();
}

double FastestTimes::limit(const PlanDegrees& degrees, double alike) const {
    const auto known = find(degrees);
    return known == times_.end() ? limit() : std::min(limit(), known->first * alike);
}

double FastestTimes::limit() const {
    return times_.size() < most_ ? std::numeric_limits<double>::infinity() : times_.back().first;
}

UnitTimes::const_iterator FastestTimes::find(const PlanDegrees& degrees) const {
    return std::find_if(times_.begin(), times_.end(), [&](const auto& each) { return each.second == degrees; });
}

UnitResults::UnitResults(std::size_t units, std::size_t kept, const std::vector<UnitTimes>& leading)
    : none_(kept), results_(units), done_(units, false), known_(!leading.empty()) {
    for (const UnitTimes& times : leading) add_times(times);
}

FastestTimes UnitResults::before(std::int64_t number) {
    const auto known = static_cast<std::size_t>(std::min(number / 2, leading_units));
    Lock lock(mutex_);
    ended_.wait(lock, [&] { return fastest_.size() >= known; });
    return known == 0 ? none_ : fastest_[known - 1];
}

void UnitResults::add(std::size_t place, FoundPlans found) {
    const std::lock_guard lock(mutex_);
    results_[place] = std::move(found);
    done_[place] = true;
    for (std::size_t i = fastest_.size(); !known_ && i < done_.size() && done_[i]; ++i)
        add_times(times_of(results_[i]));
    ended_.notify_all();
}

void UnitResults::add_times(const UnitTimes& times) {
    fastest_.push_back(fastest_.empty() ? none_ : fastest_.back());
    for (const auto& [seconds, degrees] : times) fastest_.back().add(seconds, degrees);
}

}  // namespace roofline::core
