// What plans of training are judged by: objectives, the limits of a user, and fronts of two objectives.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "predict/train/train_answer.hpp"

namespace roofline::core {

/// What is to be least.
enum class PlanObjective : std::uint8_t {
    time,    ///< of the run, with interruptions where their cost is known
    cost,    ///< USD: chips at their price per hour for that time
    energy,  ///< chips at their rated power for that time, without hosts, switches and cooling
    chips,
    memory,  ///< of the fullest chip
};
inline constexpr std::array<std::pair<std::string_view, PlanObjective>, 5> plan_objectives{
    {{"time", PlanObjective::time},
     {"cost", PlanObjective::cost},
     {"energy", PlanObjective::energy},
     {"chips", PlanObjective::chips},
     {"memory", PlanObjective::memory}}};
[[nodiscard]] std::string_view name(PlanObjective objective);

/// The tokens that time, cost and energy are of.
enum class PlanBasis : std::uint8_t {
    run,     ///< of the whole training run
    step,    ///< of a step; all plans have the same batch
    tokens,  ///< a million, because batches differ
};

/// What a plan takes, in SI base units.
struct PlanValues {
    double seconds = 0;
    std::optional<double> usd{};     ///< empty if the chip has no price
    std::optional<double> joules{};  ///< empty if no power is published for the chip
    std::optional<double> watts{};
    std::int64_t chips = 1;
    double bytes = 0;  ///< in use on the fullest chip

    [[nodiscard]] std::optional<double> of(PlanObjective objective) const;
};

/// Returns the values of a plan that fits. A run needs the answer's cost.
[[nodiscard]] PlanValues values_of(const TrainAnswer& answer, PlanBasis basis);

/// The limits of a user; those that are empty do not limit.
struct PlanLimits {
    std::optional<double> seconds{};  ///< of the run
    std::optional<double> usd{};      ///< of the run
    std::optional<double> watts{};
    std::optional<std::int64_t> chips{};

    [[nodiscard]] bool of_run() const { return seconds || usd; }
    [[nodiscard]] bool any() const { return of_run() || watts || chips; }
};

enum class PlanLimit : std::uint8_t { days, usd, power, chips };

/// A limit that a plan exceeds.
struct ExceededLimit {
    PlanLimit limit = PlanLimit::days;
    double value = 0;    ///< of the plan: seconds, USD, watts or chips
    double allowed = 0;  ///< likewise

    [[nodiscard]] double factor() const { return value / allowed; }
};

/// Returns the limits that these values exceed, in the order of PlanLimit.
[[nodiscard]] std::vector<ExceededLimit> exceeded(const PlanLimits& limits, const PlanValues& values);

/// Returns the indices of the points that no other one beats: none is less in one coordinate and at most equal in the
/// other. They are in rising order of the first coordinate; of equal points the first is kept.
[[nodiscard]] std::vector<std::size_t> front_of(std::span<const std::pair<double, double>> points);

/// Returns the share of pairs in the right order whose expected values differ by this factor, linear between shares
/// that were measured at logarithms of it.
[[nodiscard]] double share_in_order(double factor, std::span<const std::pair<double, double>> measured);

/// Returns the items by rising key, those with equal keys in the order that they have.
template <class Item, class Key>
[[nodiscard]] std::vector<Item> sorted_by(std::vector<Item> items, const Key& key) {
    std::vector<std::pair<std::invoke_result_t<const Key&, const Item&>, std::size_t>> places;
    for (std::size_t i = 0; i < items.size(); ++i) places.emplace_back(key(items[i]), i);
    std::sort(places.begin(), places.end());
    std::vector<Item> sorted;
    for (const auto& place : places) sorted.push_back(std::move(items[place.second]));
    return sorted;
}

}  // namespace roofline::core
