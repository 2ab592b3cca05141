// The best training plan: every plan of a space is looked at, and what is rejected is counted by reason.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "plan/plan_space.hpp"
#include "predict/plan/plan_pricer.hpp"
#include "predict/plan/plan_units.hpp"
#include "predict/plan/search_progress.hpp"

namespace roofline::core {

/// Which plans a search keeps.
enum class PlanKeep : std::uint8_t {
    fastest,
    front,  ///< those that no other one beats in both time and memory, the fastest and the smallest of their degrees
};

/// The plans of a job. `base` has what all of them share: the tokens of a batch, the optimizer, dtypes.
struct PlanJob {
    Model model;
    const Slice& slice;
    TrainSetup base;
    PlanSpace space;
    StepPricing pricing;
    std::size_t kept = 16;  ///< sets of degrees in the answer
    PlanKeep keep = PlanKeep::fastest;
    double limit_s = std::numeric_limits<double>::infinity();  ///< longer steps are counted as beyond a user's limit
};

/// A plan that a search looked at.
struct FoundPlan {
    TrainSetup setup;
    double seconds = 0;
    double order_s = 0;  ///< by which plans are put in order, see order_seconds()
    double memory = 0;   ///< bytes on the fullest chip
    PlanPlace order{};   ///< of equal ones the first is the better
};

/// Plans by what became of them.
struct PlanCounts {
    std::int64_t looked_at = 0;
    std::int64_t priced = 0;
    std::int64_t divides = 0;   ///< splits of chips that do not divide the model or the batch; they are no plans
    std::int64_t memory = 0;    ///< plans that do not fit
    std::int64_t weights = 0;   ///< of these, plans whose weights and optimizer states alone do not fit
    std::int64_t bound = 0;     ///< plans whose lower bound exceeds the times of those that are kept
    std::int64_t limit = 0;     ///< plans that fit, but whose step is longer than a limit of the user's
    std::int64_t unsuited = 0;  ///< plans that cannot be laid out on the slice
    std::int64_t compiled = 0;  ///< structures of stages
    /// Plans that were not looked at, because of a limit or an interrupt; they are not among `looked_at`.
    std::int64_t unsearched = 0;

    PlanCounts& operator+=(const PlanCounts& other);
};

/// A plan that could not be laid out on the slice.
struct RefusedPlan {
    PlanPlace order{};
    std::string why;
};

/// The degrees of a plan: plans that differ in nothing else stand together in an answer.
using PlanDegrees = std::array<std::int64_t, 8>;

/// Times by which plans are put in order, of those plans of a unit that were kept.
using UnitTimes = std::vector<std::pair<double, PlanDegrees>>;

/// The result of a search, or of a part of it.
struct FoundPlans {
    /// Of the plans that fit the fastest, best first, and a few of the same degrees; or the front.
    std::vector<FoundPlan> best;
    std::vector<FoundPlan> larger;  ///< faster ones than the best that need more memory than a chip has
    /// Where nothing fits, the plan that needs the least memory; otherwise it has no meaning.
    std::optional<FoundPlan> nearest{};
    PlanCounts counts;
    std::vector<UnitTimes> leading{};      ///< of the leading units, by number; only of the part that they are
    std::int64_t rest = 0;                 ///< likewise: number of other units
    std::optional<RefusedPlan> refused{};  ///< the first that could not be laid out
    bool stopped = false;                  ///< the search was ended before it was complete
    bool counted = true;                   ///< false if a limited search did not count all plans of the space
};

/// How a space is searched.
struct PlanSearch {
    std::size_t threads = 1;
    PlanPart part{};                      ///< the part of the space that is searched
    std::vector<UnitTimes> leading{};     ///< FoundPlans::leading, for a part of the rest
    std::optional<std::int64_t> limit{};  ///< on the number of plans
    SearchWatcher watch{};                ///< of the plans of the part
};

/// Looks at the plans of a space. The same question has the same answer on any number of threads, and the results of
/// all parts merge into that of the whole. Errors: an operation without a derivative; times of other leading units than
/// the space has; those of units_of().
[[nodiscard]] Result<FoundPlans> search_plans(const PlanJob& job, const PlanSearch& search);

/// Returns the result of the whole search from those of its parts, in any order. `kept` and `keep` are the job's.
[[nodiscard]] FoundPlans merge_parts(std::vector<FoundPlans> parts, std::size_t kept,
                                     PlanKeep keep = PlanKeep::fastest);

}  // namespace roofline::core
