// The routed experts of a program: the number of experts that a forward pass reads depends on the router's choices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// The dimensions of a `dispatch`: each token chooses some of the experts, and each expert gets a number of rows.
struct RoutedExperts {
    std::string experts;
    std::string rows;
    std::vector<std::string> tokens;   ///< dimensions of the routes that tokens have too
    std::vector<std::string> choices;  ///< other dimensions of the routes: the choices of each token
};

/// The experts of all dispatches, each pair of experts and rows once.
[[nodiscard]] std::vector<RoutedExperts> routed_experts(const Program& program);

/// Limits tokens to some groups of the experts, as DeepSeek-V3 limits them to 4 nodes of 8. Errors: no group is chosen,
/// or more than exist; tokens choose no experts in the program; the groups do not divide the experts, as far as their
/// number is known; too few experts remain for a token's choices.
[[nodiscard]] Status limit_to_groups(Program& program, ExpertGroups groups);

/// Product of the sizes of some dimensions, at most 2^50; one without a size counts as 1.
[[nodiscard]] std::int64_t product_of(const std::vector<std::string>& dims, const Sizes& sizes);

/// Binds the smallest number of experts that tokens can choose: all tokens choose the same ones, each of which has a
/// row for each token.
void bind_fewest_experts(const Program& program, Sizes& sizes);

}  // namespace roofline::core
