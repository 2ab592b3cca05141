// Number of tokens for the experts of one rank, according to the routing rules that tables of expert layers name.
#pragma once

#include <compare>
#include <cstdint>

namespace roofline::core {

/// The tokens of a layer: each chooses `choices` of `experts`, which are divided equally among `ranks`.
struct Routing {
    std::int64_t tokens = 0;
    std::int64_t choices = 0;
    std::int64_t experts = 0;
    std::int64_t ranks = 1;

    auto operator<=>(const Routing&) const = default;
};

/// The load of the first rank.
struct ExpertLoad {
    std::int64_t experts = 0;  ///< experts that any token chose: only their weights are read
    std::int64_t rows = 0;     ///< choices of all tokens that are on this rank

    bool operator==(const ExpertLoad&) const = default;
};

/// Load of balanced routing: the choices of a token are ceil(experts / choices) apart, and each token starts one expert
/// further, or further than one if there are few tokens, so that they cycle once through the experts. Returns zeros
/// unless everything is positive, the number of experts is a multiple of the ranks and not smaller than the choices,
/// and there are at most 65536 experts and 2^32 tokens.
[[nodiscard]] ExpertLoad balanced_load(const Routing& routing);

/// Load of tokens that each choose `choices` different experts at random, all alike: the expected number of experts
/// that any token chose, rounded, and the expected rows of a rank. Returns zeros as above.
[[nodiscard]] ExpertLoad random_load(const Routing& routing);

/// Load of power-law routing: experts are chosen in proportion to numbers drawn from a density x^-alpha between 1 and
/// 0.8 tokens (0.01 and 2 if tokens have fewer choices than there are experts), rounded, and no token chooses an expert
/// twice. The result is that of the busiest rank, averaged over several draws with a fixed seed. The remainder of
/// rounding is assigned to the ranks in turn or, without `in_turn`, to the first experts. Returns zeros as above, and
/// unless alpha is between 0 and 10.
[[nodiscard]] ExpertLoad power_law_load(const Routing& routing, double alpha, bool in_turn = true);

}  // namespace roofline::core
