// Experts of a program that tokens are routed to: how many of them a pass touches depends on what the router chooses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// The dimensions of a `dispatch`: each token chooses some of the experts, each expert gets so many rows.
struct RoutedExperts {
    std::string experts;
    std::string rows;
    std::vector<std::string> tokens;   ///< of the routes, those that the tokens have too
    std::vector<std::string> choices;  ///< the others: what each token chooses
};

/// Of every dispatch, each pair of experts and rows once.
[[nodiscard]] std::vector<RoutedExperts> routed_experts(const Program& program);

/// Limits tokens to some groups of the experts, as DeepSeek-V3's reach 4 nodes of 8 at most. Errors: no group is chosen, or more than
/// there are; tokens choose no experts in the program; experts, as far as their number is known, that the groups do not divide, or
/// of which too few are left for a token's choices.
[[nodiscard]] Status limit_to_groups(Program& program, ExpertGroups groups);

/// The product of some dimensions, at most 2^50; one without a size counts as 1.
[[nodiscard]] std::int64_t product_of(const std::vector<std::string>& dims, const Sizes& sizes);

/// How many of E experts are chosen by at least one of n tokens that choose A each, all alike likely and independently of each
/// other: E (1 - (1 - A/E)^n), rounded to the nearest, no fewer than A.
[[nodiscard]] std::int64_t likely_experts(std::int64_t experts, std::int64_t choices, std::int64_t tokens);

/// The fewest experts that tokens can choose: all of them the same. Each of these has a row for each token.
void bind_fewest_experts(const Program& program, Sizes& sizes);

}  // namespace roofline::core
