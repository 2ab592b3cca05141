// How many tokens come to the experts of one rank, by the rules that tables of expert layers name.
#pragma once

#include <compare>
#include <cstdint>

namespace roofline::core {

/// What is asked: the tokens of a layer, each with `choices` of `experts`, which lie in equal parts on `ranks`.
struct Routing {
    std::int64_t tokens = 0;
    std::int64_t choices = 0;
    std::int64_t experts = 0;
    std::int64_t ranks = 1;

    auto operator<=>(const Routing&) const = default;
};

/// What falls on the first rank.
struct ExpertLoad {
    std::int64_t experts = 0;  ///< that any token chose: only their weights are read
    std::int64_t rows = 0;     ///< tokens times those of their choices that lie there

    bool operator==(const ExpertLoad&) const = default;
};

/// Tokens take turns: the choices of each lie ceil(experts / choices) apart, and each token starts one expert further; so much
/// further, when there are few tokens, that they come round once. Zeros unless everything is above zero, the experts are a multiple
/// of the ranks and no fewer than the choices, and there are at most 65536 of them and 2^32 tokens.
[[nodiscard]] ExpertLoad balanced_load(const Routing& routing);

/// Experts are chosen in proportion to numbers drawn from a density x^-alpha between 1 and 0.8 tokens (0.01 and 2 where tokens have
/// fewer choices than there are experts), rounded, no expert by a token twice; the rank is the busiest. It is the mean of
/// several draws, always the same ones. What rounding leaves over goes to the ranks in turn, or else to the first experts. Zeros as above, and unless alpha is between 0 and 10.
[[nodiscard]] ExpertLoad power_law_load(const Routing& routing, double alpha, bool in_turn = true);

}  // namespace roofline::core
