#include "plan/expert_placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "model/routed_experts.hpp"
#include "plan/random_numbers.hpp"

namespace roofline::core {

namespace {

using Ids = std::vector<std::size_t>;

/// Normally distributed numbers with the same mean and variance.
struct NormalNumbers {
    double count = 1;
    double mean = 0;
    double variance = 0;

    [[nodiscard]] double log_below(double value) const {
        constexpr double near = 1e-12;  // relative to the values: rounding of a number that does not vary
        if (!(variance > near * near * mean * mean)) return value >= mean * (1 - near) ? 0 : -INFINITY;
        return count * std::log(std::erfc((mean - value) / std::sqrt(2 * variance)) / 2);
    }
};

/// The expected maximum of independent numbers; see PlacedExperts::busiest_chip().
double expected_maximum(const std::vector<NormalNumbers>& numbers) {
    double count = 0;
    double low = 0;
    double deviation = 0;
    for (const NormalNumbers& each : numbers) {
        count += each.count;
        low = std::max(low, each.mean);
        deviation = std::max(deviation, std::sqrt(std::max(0.0, each.variance)));
    }
    const double quantile = count * std::log((count - 0.375) / (count + 0.25));
    constexpr double far = 10;  // standard deviations
    double high = low + far * deviation;
    constexpr int halvings = 50;
    for (int i = 0; i < halvings; ++i) {
        const double middle = (low + high) / 2;
        double below = 0;
        for (const NormalNumbers& each : numbers) below += each.log_below(middle);
        (below < quantile ? low : high) = middle;
    }
    return low;
}

/// The ids of the experts of each chip, in blocks of ids of equal size.
std::vector<Ids> in_blocks(const Ids& ids, std::size_t chips) {
    std::vector<Ids> blocks(chips);
    const std::size_t each = (ids.size() + chips - 1) / chips;
    for (std::size_t i = 0; i < ids.size(); ++i) blocks[i / each].push_back(ids[i]);
    return blocks;
}

double load_of(const Ids& ids, const std::vector<RoutedReplicas>& experts) {
    double load = 0;
    for (const std::size_t id : ids) load += experts[id].chance;
    return load;
}

double largest_load(const std::vector<Ids>& chips, const std::vector<RoutedReplicas>& experts) {
    double most = 0;
    for (const Ids& chip : chips) most = std::max(most, load_of(chip, experts));
    return most;
}

// Fisher and Yates: every order is equally likely.
void shuffle(Ids& ids, RandomNumbers& random) {
    for (std::size_t left = ids.size(); left > 1; --left) {
        const auto chosen = static_cast<std::size_t>(random.uniform() * static_cast<double>(left));
        std::swap(ids[left - 1], ids[chosen]);
    }
}

std::vector<Ids> at_random(Ids ids, std::size_t chips, const std::vector<RoutedReplicas>& experts) {
    constexpr int placements = 1000;
    constexpr std::uint64_t seed = 3;
    double sum = 0;
    RandomNumbers random(seed);
    const Ids first = ids;
    for (int i = 0; i < placements; ++i) {
        shuffle(ids, random);
        sum += largest_load(in_blocks(ids, chips), experts);
    }
    const double mean = sum / placements;
    std::vector<Ids> nearest;
    double distance = INFINITY;
    RandomNumbers again(seed);
    ids = first;
    for (int i = 0; i < placements; ++i) {
        shuffle(ids, again);
        std::vector<Ids> blocks = in_blocks(ids, chips);
        const double away = std::abs(largest_load(blocks, experts) - mean);
        if (!(away < distance)) continue;
        distance = away;
        nearest = std::move(blocks);
    }
    return nearest;
}

std::vector<Ids> packed(const std::vector<RoutedReplicas>& experts, std::size_t chips) {
    Ids replicas;
    for (std::size_t id = 0; id < experts.size(); ++id) {
        replicas.insert(replicas.end(), static_cast<std::size_t>(experts[id].replicas), id);
    }
    std::sort(replicas.begin(), replicas.end(), [&](std::size_t a, std::size_t b) {
        return experts[a].chance != experts[b].chance ? experts[a].chance > experts[b].chance : a < b;
    });
    const std::size_t room = (replicas.size() + chips - 1) / chips;
    std::vector<Ids> held(chips);
    std::vector<double> loads(chips, 0);
    for (const std::size_t id : replicas) {
        std::size_t least = chips;
        for (std::size_t chip = 0; chip < chips; ++chip) {
            if (held[chip].size() < room && (least == chips || loads[chip] < loads[least])) least = chip;
        }
        held[least].push_back(id);
        loads[least] += experts[id].chance;
    }
    return held;
}

/// The ids of the replicas that each chip holds.
std::vector<Ids> placed(const ExpertRouting& routing, const std::vector<RoutedReplicas>& experts, std::size_t chips) {
    if (routing.redundant) return packed(experts, chips);
    Ids ids(experts.size());
    std::iota(ids.begin(), ids.end(), std::size_t{0});
    return routing.measured.empty() ? at_random(std::move(ids), chips, experts) : in_blocks(ids, chips);
}

}  // namespace

double expert_chips(const Plan& plan) {
    return static_cast<double>(plan.expert * (plan.experts_over_tensor ? plan.tensor : 1));
}

std::vector<SharedExperts> shared_experts(const Program& model, const Plan& plan) {
    std::vector<SharedExperts> shared;
    for (const RoutedExperts& each : routed_experts(model)) {
        shared.push_back({static_cast<double>(product_of({each.experts}, model.sizes)),
                          static_cast<double>(product_of(each.choices, model.sizes)), expert_chips(plan)});
    }
    return shared;
}

Status check_placement(const ExpertRouting& routing, const SharedExperts& experts) {
    if (!routing.redundant) return {};
    const std::int64_t redundant = *routing.redundant;
    const auto chips = static_cast<std::int64_t>(experts.chips);
    if (chips < 2) {
        return fail("bad_redundant_experts", "redundant experts balance chips that share the experts: here none do",
                    "give a plan that spreads experts, such as --mesh tensor=8,expert=8 on 8 chips");
    }
    const std::int64_t all = static_cast<std::int64_t>(experts.experts) + redundant;
    const std::int64_t over = all % chips;
    if (over == 0) return {};
    const bool fewer = over <= redundant && 2 * over <= chips;
    return fail("bad_redundant_experts",
                fmt::format("{} experts and {} redundant ones are {}, which {} chips cannot share equally",
                            experts.experts, redundant, all, chips),
                fmt::format("the nearest number of redundant experts with which they can is {}",
                            fewer ? redundant - over : redundant + chips - over));
}

PlacedExperts::PlacedExperts(const ExpertRouting& routing, const SharedExperts& experts)
    : experts_(experts), replicas_(routed_replicas(routing, experts.experts, experts.choices)) {
    if (replicas_.size() == 1 || !(experts.chips > 1)) {
        // all experts are alike, or on one chip
        Chips alike{experts.chips, replicas_, 0};
        for (RoutedReplicas& each : alike.held) {
            each.experts /= experts.chips;
            alike.load += each.experts * each.replicas * each.chance;
        }
        chips_.push_back(std::move(alike));
        return;
    }
    for (const Ids& ids : placed(routing, replicas_, static_cast<std::size_t>(experts.chips))) {
        Chips chip{1, {}, load_of(ids, replicas_)};
        for (const std::size_t id : ids) chip.held.push_back({1, 1, replicas_[id].chance});
        chips_.push_back(std::move(chip));
    }
}

double PlacedExperts::most_routes(double tokens) const {
    std::vector<NormalNumbers> routes;
    for (const Chips& each : chips_) routes.push_back({each.count, tokens * each.load, tokens * each.load});
    return expected_maximum(routes);
}

double PlacedExperts::balancedness(double tokens) const {
    return tokens * experts_.choices / experts_.chips / most_routes(tokens);
}

double PlacedExperts::imbalance() const {
    double most = 0;
    for (const Chips& each : chips_) most = std::max(most, each.load);
    return most * experts_.chips / std::min(experts_.choices, experts_.experts);
}

ExpertWork PlacedExperts::busiest_chip(double tokens, double balancedness) const {
    const double routes = tokens * experts_.choices;
    if (!(experts_.chips > 1)) {
        const double all = read(tokens);
        return {all, routes / all};
    }
    std::vector<NormalNumbers> reads;
    double room = 0;
    for (const Chips& chip : chips_) {
        NormalNumbers number{chip.count, 0, 0};
        double held = 0;
        for (const RoutedReplicas& each : chip.held) {
            const double mean = each.read(tokens);
            const double of = each.experts * each.replicas;
            held += of;
            number.mean += mean;
            number.variance += mean * (1 - mean / of);
        }
        room = std::max(room, held);
        reads.push_back(number);
    }
    const double most_read = std::min(room, expected_maximum(reads));
    const double most = balancedness > 0 ? routes / experts_.chips / balancedness : most_routes(tokens);
    return {most_read * experts_.chips, most / most_read};
}

}  // namespace roofline::core
