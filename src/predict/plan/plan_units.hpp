// How the plans of a space are divided: into units that share structures and are searched apart from one
// another, and units into parts of equal cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "plan/plan_space.hpp"

namespace roofline::core {

/// Plans of one question at most: they take an hour or more.
inline constexpr std::int64_t most_plans = 100'000'000;

/// Units whose times bound those of others.
inline constexpr std::int64_t leading_units = 32;

/// One of the equal parts that a search is cut into; they count from 1.
struct PlanPart {
    std::int64_t number = 1;
    std::int64_t of = 1;
    /// The leading units are a part of their own, number 0, and the others have the rest.
    bool apart = false;

    bool operator==(const PlanPart&) const = default;
};

/// The place of a plan in a space, by which equally fast plans are ordered: simple ones come first.
struct PlanPlace {
    std::int64_t unit = 0;
    std::int64_t index = 0;  ///< among the plans of the unit

    auto operator<=>(const PlanPlace&) const = default;
};

/// The plans with the same axes and ZeRO stage, which share structures.
struct PlanUnit {
    PlanAxes axes;
    int zero = 0;
    std::int64_t number = 0;
    std::int64_t plans = 0;
    std::int64_t searched = 0;   ///< of these; they are spread evenly over the unit
    std::int64_t undivided = 0;  ///< splits of chips that do not divide the model or the batch
    double cost = 0;             ///< of the search, in plans that are priced, about
    bool counted = true;         ///< whether all its splits were counted; if not, the others are left out

    /// Whether any of the plans from `begin` up to, but not including, `end` is searched.
    [[nodiscard]] bool searches(std::int64_t begin, std::int64_t end) const;
};

/// Returns the units of a space that have plans or splits that do not divide, by number, which are 0, 1, ... At most
/// `limit` plans are searched: small units as a whole, and the same number of plans in each larger one. Errors: more
/// than `most_plans` plans without a limit. Splits that do not divide are no plans.
[[nodiscard]] Result<std::vector<PlanUnit>> units_of(const PlanSpace& space, std::optional<std::int64_t> limit);

/// Calls `visit` for the plans of a unit in a fixed order, until it returns false. A plan has a place for each of its
/// choices in each order of its axes: those of the first choice come first.
void visit_unit(const PlanSpace& space, const PlanUnit& unit, const std::function<bool(const Plan&)>& visit);

/// Returns the units of a part, the most expensive first; of the leading part, by number. Every unit is in exactly one
/// of the parts, and these, but for the leading one, cost about the same; with more parts than units some are empty.
[[nodiscard]] std::vector<PlanUnit> units_of_part(std::vector<PlanUnit> units, PlanPart part);

}  // namespace roofline::core
