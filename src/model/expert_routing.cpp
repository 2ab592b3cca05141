#include "model/expert_routing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "model/routed_experts.hpp"

namespace roofline::core {

namespace {

constexpr const char* routing_remedy =
    "a measured popularity has one number per expert of a layer: how many tokens chose it, or their share";

tl::unexpected<Error> wrong(std::string message, std::string hint) {
    return fail("bad_routing", std::move(message), std::move(hint));
}

Status check_measured(const std::vector<double>& measured, std::int64_t experts, std::int64_t choices) {
    if (static_cast<std::int64_t>(measured.size()) != experts) {
        return wrong(fmt::format("the popularity of {} experts is given, but a layer has {}", measured.size(), experts),
                     routing_remedy);
    }
    std::int64_t chosen = 0;
    for (std::size_t id = 0; id < measured.size(); ++id) {
        if (!(measured[id] >= 0) || !std::isfinite(measured[id])) {
            return wrong(
                fmt::format("the popularity of expert {} is {}, which is no number of tokens", id, measured[id]),
                routing_remedy);
        }
        if (measured[id] > 0) ++chosen;
    }
    if (chosen >= choices) return {};
    return wrong(fmt::format("the popularity is above 0 for {} experts, but a token chooses {}", chosen, choices),
                 "the numbers of at least as many experts must be positive; measure more tokens");
}

std::vector<double> popularities(const ExpertRouting& routing, std::size_t experts) {
    if (!routing.measured.empty()) return routing.measured;
    std::vector<double> popular(experts);
    for (std::size_t i = 0; i < experts; ++i) popular[i] = std::pow(static_cast<double>(i + 1), -routing.zipf);
    return popular;
}

// The probabilities of the experts, which add up to `choices`. The most popular ones are certain: as many of them as
// would otherwise exceed 1.
std::vector<double> chances_of(std::vector<double> popular, double choices) {
    std::vector<std::size_t> order(popular.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return popular[a] != popular[b] ? popular[a] > popular[b] : a < b; });
    // sums from the smallest, so that they are exact to the last digits
    std::vector<double> from(popular.size() + 1, 0);
    for (std::size_t i = popular.size(); i-- > 0;) from[i] = from[i + 1] + popular[order[i]];
    std::size_t certain = 0;
    while (certain < popular.size() && choices > static_cast<double>(certain) &&
           popular[order[certain]] * (choices - static_cast<double>(certain)) >= from[certain]) {
        ++certain;
    }
    const double left = choices - static_cast<double>(certain);
    for (std::size_t i = 0; i < popular.size(); ++i) {
        double& chance = popular[order[i]];
        chance = i < certain ? 1 : from[certain] > 0 ? std::clamp(left * chance / from[certain], 0.0, 1.0) : 0;
    }
    return popular;
}

}  // namespace

std::string routing_text(const ExpertRouting& routing) {
    if (!routing.measured.empty()) return "measured";
    return routing.zipf == 0 ? "uniform" : fmt::format("zipf:{:g}", routing.zipf);
}

Status check_routing(const ExpertRouting& routing, const Program& program) {
    const std::vector<RoutedExperts> routed = routed_experts(program);
    if (routing.uniform() && !routing.redundant) return {};
    if (routed.empty()) {
        return wrong("this model has no experts that tokens choose", "leave the routing and redundant experts out");
    }
    if (!(routing.zipf >= 0 && routing.zipf <= max_zipf_exponent)) {
        return wrong(fmt::format("the exponent of Zipf's law is {}", routing.zipf),
                     fmt::format("it must be 0 (all experts are alike) to {}", max_zipf_exponent));
    }
    if (routing.redundant.value_or(0) < 0) {
        return wrong(fmt::format("there cannot be {} redundant experts", *routing.redundant), "give 0 or more");
    }
    for (const RoutedExperts& each : routed) {
        const std::int64_t experts = product_of({each.experts}, program.sizes);
        if (experts > max_unequal_experts || routing.redundant.value_or(0) > max_unequal_experts - experts) {
            return wrong(fmt::format("{} experts and {} redundant ones are too many to tell apart", experts,
                                     routing.redundant.value_or(0)),
                         fmt::format("at most {} per layer are told apart", max_unequal_experts));
        }
        if (routing.measured.empty()) continue;
        ROOFLINE_CHECK(check_measured(routing.measured, experts, product_of(each.choices, program.sizes)));
    }
    return {};
}

double RoutedReplicas::read(double tokens) const { return experts * replicas * (1 - std::pow(1 - chance, tokens)); }

std::vector<RoutedReplicas> routed_replicas(const ExpertRouting& routing, double experts, double choices) {
    if (choices >= experts) choices = experts;
    if (routing.uniform() && !(routing.replicas() > 0)) return {{experts, 1, choices / experts}};
    const std::vector<double> chances = chances_of(popularities(routing, static_cast<std::size_t>(experts)), choices);
    std::vector<RoutedReplicas> all;
    // the largest chance per replica, and of equal ones the smallest id
    std::priority_queue<std::pair<double, std::int64_t>> busiest;
    for (std::size_t id = 0; id < chances.size(); ++id) {
        all.push_back({1, 1, chances[id]});
        busiest.emplace(chances[id], -static_cast<std::int64_t>(id));
    }
    for (double added = 0; added < routing.replicas(); added += 1) {
        const auto id = static_cast<std::size_t>(-busiest.top().second);
        busiest.pop();
        all[id].replicas += 1;
        all[id].chance = chances[id] / all[id].replicas;
        busiest.emplace(all[id].chance, -static_cast<std::int64_t>(id));
    }
    return all;
}

double expected_experts(const std::vector<RoutedReplicas>& replicas, double choices, double tokens) {
    double read = 0;
    double all = 0;
    for (const RoutedReplicas& each : replicas) {
        read += each.read(tokens);
        all += each.experts * each.replicas;
    }
    return std::clamp(read, std::min(choices, all), all);
}

std::int64_t likely_experts(const ExpertRouting& routing, std::int64_t experts, std::int64_t choices,
                            std::int64_t tokens) {
    const auto chosen = static_cast<double>(choices);
    return std::llround(expected_experts(routed_replicas(routing, static_cast<double>(experts), chosen), chosen,
                                         static_cast<double>(tokens)));
}

}  // namespace roofline::core
