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

/// Expected number of E experts that at least one of n tokens chooses if each token chooses A, uniformly and
/// independently: E (1 - (1 - A/E)^n), at least A.
[[nodiscard]] double expected_experts(double experts, double choices, double tokens);
/// The same, rounded to the nearest integer.
[[nodiscard]] std::int64_t likely_experts(std::int64_t experts, std::int64_t choices, std::int64_t tokens);

/// Experts that are shared out evenly among chips, of which the busiest one decides the time.
struct SharedExperts {
    double experts = 0;  ///< number of all experts
    double choices = 0;  ///< experts per token
    double chips = 1;    ///< that share them
};
/// The work of the busiest chip, as if all had as much.
struct ExpertWork {
    double read = 0;  ///< experts that are read on all chips
    double rows = 0;  ///< of each of these
};
/// Returns the expected work of the busiest chip for uniform and independent choices of n tokens. The number of routes
/// to a chip has the mean m = n A / g and about the variance of a Poisson distribution, m; that of experts read on it
/// is binomial. The expected maximum of g such numbers is taken as their mean and z standard deviations, where z is the
/// expected maximum of g standard normal numbers as Blom (1958) approximates it, the quantile (g - 0.375) / (g + 0.25).
/// If `balancedness` is positive it is the mean over the largest number of routes to a chip, in place of chance.
[[nodiscard]] ExpertWork busiest_chip(const SharedExperts& experts, double tokens, double balancedness);

/// Returns the expected mean over the largest number of routes to a chip of these choices by chance.
[[nodiscard]] double chance_balancedness(const SharedExperts& experts, double tokens);

/// Binds the smallest number of experts that tokens can choose: all tokens choose the same ones, each of which has a
/// row for each token.
void bind_fewest_experts(const Program& program, Sizes& sizes);

}  // namespace roofline::core
