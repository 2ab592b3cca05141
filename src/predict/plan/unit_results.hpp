// How fast the plans of some units are, which rejects plans of others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/threads.hpp"
#include "predict/plan/plan_search.hpp"

namespace roofline::core {

[[nodiscard]] PlanDegrees degrees_of(const Plan& plan);

/// Returns the times of the plans that the search of a unit has kept.
[[nodiscard]] UnitTimes times_of(const FoundPlans& unit);

/// The times of the fastest plans so far, each with other degrees.
class FastestTimes {
public:
    explicit FastestTimes(std::size_t most) : most_(most) {}

    void add(double seconds, const PlanDegrees& degrees);
    /// Plans of these degrees that take longer are not among the best, or not the best of their degrees.
    [[nodiscard]] double limit(const PlanDegrees& degrees, double alike) const;

private:
    [[nodiscard]] double limit() const;
    [[nodiscard]] UnitTimes::const_iterator find(const PlanDegrees& degrees) const;

    std::size_t most_;
    UnitTimes times_;
};

/// The results of units that are searched at the same time. How fast the plans of earlier units are rejects plans of
/// later ones. So that the answer is the same on any number of threads and in any number of parts, a unit knows the
/// results of the first half of the units before it, up to `leading_units`, all of them and no others.
class UnitResults {
public:
    /// `leading`: times of the leading units, if they are known. Otherwise the units begin with all that others wait
    /// for.
    UnitResults(std::size_t units, std::size_t kept, const std::vector<UnitTimes>& leading);

    /// Waits for the units that the one with this number knows, and returns their times.
    [[nodiscard]] FastestTimes before(std::int64_t number);
    void add(std::size_t place, FoundPlans found);
    [[nodiscard]] std::vector<FoundPlans>& all() { return results_; }

private:
    void add_times(const UnitTimes& times);

    FastestTimes none_;
    Mutex mutex_;
    Condition ended_;
    std::vector<FoundPlans> results_;
    std::vector<bool> done_;
    bool known_;                         ///< the times of the leading units
    std::vector<FastestTimes> fastest_;  ///< of the first unit, the first two units ...
};

}  // namespace roofline::core
