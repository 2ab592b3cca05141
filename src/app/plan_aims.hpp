// Parses what `roofline plan` is asked for: objectives, limits, and ranges of slices, batches and sequences.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/request.hpp"
#include "predict/plan/plan_objective.hpp"

namespace roofline::core {

/// Parses a range of sizes, "1Mi..16Mi*2"; {nullopt} for "". Errors name the option.
[[nodiscard]] Result<std::vector<std::optional<std::int64_t>>> range_option(const std::string& word,
                                                                            std::string_view option);

/// Parses --for and --front. Errors: unknown objectives (the hint names the nearest); not two different ones for a
/// front.
struct PlanAims {
    PlanObjective objective = PlanObjective::time;
    std::optional<std::pair<PlanObjective, PlanObjective>> front{};
};
[[nodiscard]] Result<PlanAims> plan_aims(const PlanRequest& request);

/// Parses --days, --usd, --power and the largest number of --chips. Errors: not a number above 0; a unit that is
/// missing or wrong.
[[nodiscard]] Result<PlanLimits> plan_limits(const PlanRequest& request);

inline constexpr std::size_t most_plan_slices = 256;

/// Returns a machine without a slice with slices of these numbers of chips. Errors: a number that cannot be wired.
[[nodiscard]] Result<std::vector<MachineRef>> slices_of(const MachineRef& machine,
                                                        const std::vector<std::int64_t>& chips);

/// Returns the slices of --on: a machine without a slice has each of the numbers of chips in --chips. Errors: a number
/// that cannot be wired; a range of chips although every machine has its slice.
[[nodiscard]] Result<std::vector<MachineRef>> planned_slices(const PlanRequest& request);

}  // namespace roofline::core
