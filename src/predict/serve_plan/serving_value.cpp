#include "predict/serve_plan/serving_value.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace roofline::core {

namespace {

constexpr double infinite_value = std::numeric_limits<double>::infinity();
constexpr double range_of_users = 1.15;  // a factor of tokens/s per user
constexpr std::size_t most_ranges = 32;

// What is to be least, for a deployment of so many chips that answers so many requests.
double least_value(const ServingSearch& search, double requests_per_s, double chips, double usd_per_s) {
    if (!(requests_per_s > 0)) return infinite_value;
    switch (search.objective) {
        case ServingObjective::throughput:
            return chips / requests_per_s;
        case ServingObjective::cost:
            return std::isfinite(usd_per_s) ? usd_per_s / requests_per_s : infinite_value;
        case ServingObjective::chips:
            // of equally many chips, those that would carry the most
            return std::ceil(search.rate / requests_per_s) * chips + 1e-6 * chips / requests_per_s;
    }
    return infinite_value;
}

}  // namespace

double value_of(const ServingSearch& search, const ServingCandidate& candidate) {
    return least_value(search, candidate.requests_per_s, static_cast<double>(candidate.chips), candidate.usd_per_s);
}

double excess_of(const ServingTargets& targets, double ttft_s, double tpot_s) {
    double most = 0;
    if (targets.ttft_s) most = std::max(most, ttft_s / *targets.ttft_s);
    if (targets.tpot_s) most = std::max(most, tpot_s / *targets.tpot_s);
    return most;
}

double excess_of(const ServingSearch& search, const ServingRates& rates) {
    return excess_of(search.targets, figure_of(rates.ttft, search.statistic), figure_of(rates.tpot, search.statistic));
}

double value_of(const ServingSearch& search, const ServingPlan& plan) {
    const auto chips = static_cast<double>(plan.set_up.chips());
    const double usd_per_s = plan.usd_per_million ? *plan.usd_per_million * plan.rates.tokens_per_s
                                                  : std::numeric_limits<double>::quiet_NaN();
    return least_value(search, plan.rates.requests_per_s, chips, usd_per_s);
}

std::optional<double> certainty(const ServingSearch& search, const ServingSearchAnswer& answer,
                                const ServingPlan& other) {
    if (!answer.expected) return std::nullopt;
    return share_of_set_ups_in_order(per_token(search, other) / per_token(search, answer.plans.front()));
}

bool meets(const ServingSearch& search, const ServingRates& rates) { return excess_of(search, rates) <= 1; }

double rate_of_each(const ServingSearch& search, std::int64_t count) {
    const double rate = search.rate / static_cast<double>(count);
    constexpr double digits = 5;
    const double scale = std::pow(10.0, digits - std::floor(std::log10(rate)));
    return std::ceil(rate * scale) / scale;
}

std::vector<const ServingCandidate*> best_of_ranges(const std::vector<ServingCandidate>& candidates) {
    std::map<long, const ServingCandidate*> ranges;
    for (const ServingCandidate& each : candidates) {
        if (!(each.tpot_s > 0)) continue;
        const long range = std::lround(std::log(each.tpot_s) / std::log(range_of_users));
        const ServingCandidate*& best = ranges[range];
        const auto per_chip = [](const ServingCandidate& one) {
            return one.requests_per_s / static_cast<double>(one.chips);
        };
        if (best == nullptr || per_chip(each) > per_chip(*best)) best = &each;
    }
    // from the fewest tokens/s per user on, those that more tokens per chip and user make useless are left out
    std::vector<const ServingCandidate*> wanted;
    double most = 0;
    for (const auto& [range, each] : ranges) {
        const double rate = each->requests_per_s / static_cast<double>(each->chips);
        if (rate <= most) continue;
        most = rate;
        wanted.push_back(each);
    }
    if (wanted.size() > most_ranges) {
        std::vector<const ServingCandidate*> spread;
        for (std::size_t i = 0; i < most_ranges; ++i) spread.push_back(wanted[i * wanted.size() / most_ranges]);
        wanted = std::move(spread);
    }
    return wanted;
}

}  // namespace roofline::core
