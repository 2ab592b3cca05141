#include "import/expert_load.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace roofline::core {

namespace {

using Counts = std::vector<std::int64_t>;

bool is_routing(const Routing& routing) {
    constexpr std::int64_t most_experts = 65'536;
    constexpr std::int64_t max_tokens = std::int64_t{1} << 32;
    return routing.tokens > 0 && routing.tokens <= max_tokens && routing.choices > 0 && routing.ranks > 0 &&
           routing.experts >= routing.choices && routing.experts <= most_experts &&
           routing.experts % routing.ranks == 0;
}

/// Counts the numbers below `local` among `tokens` consecutive numbers from `start`, taken modulo `experts`.
std::int64_t count_below(std::int64_t start, std::int64_t tokens, std::int64_t experts, std::int64_t local) {
    const auto up_to = [&](std::int64_t end) { return end / experts * local + std::min(end % experts, local); };
    return up_to(start + tokens) - up_to(start);
}

/// Random numbers between 0 and 1; the generator is splitmix64 (Steele, Lea and Flood 2014).
class Draws {
public:
    double next() {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return static_cast<double>((z ^ (z >> 31U)) >> 11U) * 0x1p-53;
    }

private:
    std::uint64_t state_ = 1;
};

/// Transforms a uniform number to the density x^-alpha between `least` and `most`.
double power_law(double uniform, double alpha, double least, double most) {
    const double e = 1 - alpha;
    if (std::abs(e) < 1e-9) return least * std::pow(most / least, uniform);
    const double low = std::pow(least, e);
    return std::pow(low + uniform * (std::pow(most, e) - low), 1 / e);
}

/// Increases or decreases the counts until they sum to `sum`: the ranks take turns, each at its expert with the fewest
/// or most tokens. No count exceeds `most`.
void level(Counts& counts, std::int64_t ranks, std::int64_t sum, std::int64_t most) {
    const std::int64_t local = static_cast<std::int64_t>(counts.size()) / ranks;
    std::int64_t left = sum;
    for (const std::int64_t count : counts) left -= count;
    const bool add = left > 0;
    left = std::abs(left);
    while (left > 0) {
        const std::int64_t each = std::max<std::int64_t>(1, left / static_cast<std::int64_t>(counts.size()));
        bool moved = false;
        for (auto rank = counts.begin(); rank != counts.end() && left > 0; rank += local) {
            const auto at = add ? std::min_element(rank, rank + local) : std::max_element(rank, rank + local);
            const std::int64_t step = std::min({each, add ? most - *at : *at, left});
            if (step <= 0) continue;
            *at += add ? step : -step;
            left -= step;
            moved = true;
        }
        if (!moved) return;
    }
}

Counts drawn_counts(const Routing& routing, double alpha, bool in_turn, Draws& draws) {
    const auto tokens = static_cast<double>(routing.tokens);
    const auto experts = static_cast<double>(routing.experts);
    const double choices = tokens * static_cast<double>(routing.choices);
    const bool many = choices > experts;
    std::vector<double> shares(static_cast<std::size_t>(routing.experts));
    double sum = 0;
    for (double& share : shares) {
        share = power_law(draws.next(), alpha, many ? 1 : 0.01, many ? std::max(1.0, tokens * 0.8) : 2);
        sum += share;
    }
    Counts counts;
    for (const double share : shares) counts.push_back(std::llround(std::min(tokens, share / sum * choices)));
    // rounding errors, and tokens that would have chosen an expert twice
    level(counts, in_turn ? routing.ranks : 1, routing.tokens * routing.choices, routing.tokens);
    return counts;
}

}  // namespace

ExpertLoad balanced_load(const Routing& routing) {
    ExpertLoad load;
    if (!is_routing(routing)) return load;
    const std::int64_t local = routing.experts / routing.ranks;
    const std::int64_t stride = (routing.experts + routing.choices - 1) / routing.choices;
    if (routing.tokens >= stride) {
        load.experts = local;  // every expert is chosen
        for (std::int64_t j = 0; j < routing.choices; ++j)
            load.rows += count_below(j * stride % routing.experts, routing.tokens, routing.experts, local);
        return load;
    }
    std::vector<bool> chosen(static_cast<std::size_t>(local));
    for (std::int64_t i = 0; i < routing.tokens; ++i) {
        for (std::int64_t j = 0; j < routing.choices; ++j) {
            const std::int64_t expert = (i * stride / routing.tokens + j * stride) % routing.experts;
            if (expert >= local) continue;
            ++load.rows;
            chosen[static_cast<std::size_t>(expert)] = true;
        }
    }
    load.experts = std::count(chosen.begin(), chosen.end(), true);
    return load;
}

ExpertLoad random_load(const Routing& routing) {
    if (!is_routing(routing)) return {};
    const auto tokens = static_cast<double>(routing.tokens);
    const double missed = 1 - static_cast<double>(routing.choices) / static_cast<double>(routing.experts);
    const double local = static_cast<double>(routing.experts / routing.ranks);
    const double chosen = local * (1 - std::pow(missed, tokens));
    ExpertLoad load;
    load.rows = routing.tokens * routing.choices / routing.ranks;
    load.experts = std::max<std::int64_t>(1, std::llround(chosen));
    load.rows = std::max(load.rows, load.experts);
    return load;
}

ExpertLoad power_law_load(const Routing& routing, double alpha, bool in_turn) {
    ExpertLoad load;
    if (!is_routing(routing) || !(alpha >= 0 && alpha <= 10)) return load;
    constexpr std::int64_t tries = 8;
    Draws draws;
    const std::int64_t local = routing.experts / routing.ranks;
    for (std::int64_t draw = 0; draw < tries; ++draw) {
        const Counts counts = drawn_counts(routing, alpha, in_turn, draws);
        ExpertLoad busiest;
        for (auto rank = counts.begin(); rank != counts.end(); rank += local) {
            ExpertLoad each;
            for (auto expert = rank; expert != rank + local; ++expert) {
                each.rows += *expert;
                each.experts += *expert > 0 ? 1 : 0;
            }
            if (each.rows > busiest.rows) busiest = each;
        }
        load.experts += busiest.experts;
        load.rows += busiest.rows;
    }
    return {(load.experts + tries / 2) / tries, (load.rows + tries / 2) / tries};
}

}  // namespace roofline::core
