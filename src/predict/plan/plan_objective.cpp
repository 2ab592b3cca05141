#include "predict/plan/plan_objective.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace roofline::core {

namespace {

constexpr std::int64_t million = 1'000'000;

void check_limit(std::vector<ExceededLimit>& all, PlanLimit limit, std::optional<double> allowed,
                 std::optional<double> value) {
    if (allowed && value && *value > *allowed) all.push_back({limit, *value, *allowed});
}

}  // namespace

std::string_view name(PlanObjective objective) {
    return std::find_if(plan_objectives.begin(), plan_objectives.end(),
                        [&](const auto& each) { return each.second == objective; })
        ->first;
}

std::optional<double> PlanValues::of(PlanObjective objective) const {
    switch (objective) {
        case PlanObjective::time:
            return seconds;
        case PlanObjective::cost:
            return usd;
        case PlanObjective::energy:
            return joules;
        case PlanObjective::chips:
            return static_cast<double>(chips);
        case PlanObjective::memory:
            return bytes;
    }
    return std::nullopt;
}

PlanValues values_of(const TrainAnswer& answer, PlanBasis basis) {
    PlanValues values;
    const std::int64_t tokens = basis == PlanBasis::tokens ? million : answer.batch->tokens;
    TrainingCost cost = basis == PlanBasis::run
                            ? *answer.cost
                            : training_cost(answer.demand, tokens, *answer.tokens_per_s, answer.slice.machine.price);
    if (basis == PlanBasis::run && answer.goodput) cost = cost_with(*answer.goodput, cost);
    values.seconds = cost.seconds;
    values.usd = cost.usd;
    values.chips = answer.slice.chips();
    if (answer.slice.machine.power.value) {
        values.watts = answer.slice.machine.power.value->value * static_cast<double>(values.chips);
        values.joules = *values.watts * cost.seconds;
    }
    values.bytes = answer.step->memory.total();
    return values;
}

std::vector<ExceededLimit> exceeded(const PlanLimits& limits, const PlanValues& values) {
    std::vector<ExceededLimit> all;
    check_limit(all, PlanLimit::days, limits.seconds, values.seconds);
    check_limit(all, PlanLimit::usd, limits.usd, values.usd);
    check_limit(all, PlanLimit::power, limits.watts, values.watts);
    if (limits.chips) {
        check_limit(all, PlanLimit::chips, static_cast<double>(*limits.chips), static_cast<double>(values.chips));
    }
    return all;
}

double share_in_order(double factor, std::span<const std::pair<double, double>> measured) {
    const double ratio = std::abs(std::log(factor));
    for (std::size_t i = 1; i < measured.size(); ++i) {
        const auto& [from, low] = measured[i - 1];
        const auto& [to, high] = measured[i];
        if (ratio < to) return low + (high - low) * (ratio - from) / (to - from);
    }
    return measured.back().second;
}

std::vector<std::size_t> front_of(std::span<const std::pair<double, double>> points) {
    std::vector<std::size_t> order(points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return points[a] != points[b] ? points[a] < points[b] : a < b; });
    double least = std::numeric_limits<double>::infinity();
    std::erase_if(order, [&](std::size_t i) {
        if (points[i].second >= least) return true;
        least = points[i].second;
        return false;
    });
    return order;
}

}  // namespace roofline::core
