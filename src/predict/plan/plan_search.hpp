// The best training plan: every plan of a space is looked at, and what is rejected is counted by reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "plan/plan_space.hpp"
#include "predict/plan/plan_pricer.hpp"

namespace roofline::core {

/// Which plans a search keeps.
enum class PlanKeep : std::uint8_t {
    fastest,
    front,  ///< those that no other one beats in both time and memory
};

/// The plans of a job. `base` has what all of them share: the tokens of a batch, the optimizer, dtypes.
struct PlanJob {
    const Model& model;
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
    double memory = 0;       ///< bytes on the fullest chip
    std::int64_t order = 0;  ///< among all plans; of equally fast ones the first is the better
};

/// Plans by what became of them.
struct PlanCounts {
    std::int64_t looked_at = 0;
    std::int64_t priced = 0;
    std::int64_t divides = 0;   ///< splits of chips that do not divide the model or the batch
    std::int64_t memory = 0;    ///< plans that do not fit
    std::int64_t weights = 0;   ///< of these, plans whose weights and optimizer states alone do not fit
    std::int64_t bound = 0;     ///< plans whose lower bound exceeds the times of those that are kept
    std::int64_t limit = 0;     ///< plans that fit, but whose step is longer than a limit of the user's
    std::int64_t unsuited = 0;  ///< plans that cannot be laid out on the slice
    std::int64_t compiled = 0;  ///< structures of stages

    PlanCounts& operator+=(const PlanCounts& other);
};

/// The result of a search.
struct FoundPlans {
    /// Of the plans that fit the fastest, best first, and a few of the same degrees; or the front.
    std::vector<FoundPlan> best;
    std::vector<FoundPlan> larger;       ///< faster ones than the best that need more memory than a chip has
    std::optional<FoundPlan> nearest{};  ///< of those that do not fit, the one that needs the least
    PlanCounts counts;
    std::string refusal{};  ///< why a plan could not be laid out, the first of them
};

/// Plans of one question at most: they take hours.
inline constexpr std::int64_t most_plans = 20'000'000;

/// Returns the number of plans of a space, with the splits that do not divide.
[[nodiscard]] std::int64_t count_plans(const PlanSpace& space);

/// Looks at all plans of a space, on `threads` threads. The same question has the same answer on any number of them.
/// Errors: an operation without a derivative; more than 20 million plans.
[[nodiscard]] Result<FoundPlans> search_plans(const PlanJob& job, std::size_t threads);

}  // namespace roofline::core
