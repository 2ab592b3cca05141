// How tokens choose the experts of a layer: how popular each one is, and how many replicas it has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// The largest number of experts of a layer, replicas included, that may differ in popularity.
inline constexpr std::int64_t max_unequal_experts = 4096;
/// The largest exponent of Zipf's law.
inline constexpr double max_zipf_exponent = 10;

/// The popularity of the experts of a layer, and the replicas of popular ones. All layers are alike.
struct ExpertRouting {
    /// The i-th most popular expert is chosen in proportion to i^-zipf; 0: all alike.
    double zipf = 0;
    /// By expert, in the order of ids: how many tokens chose it, or their share. Empty: `zipf` says it.
    std::vector<double> measured{};
    /// Replicas per layer beside one of each expert, on chips that EPLB chooses; empty: none, and experts lie in the
    /// order of ids.
    std::optional<std::int64_t> redundant{};

    [[nodiscard]] bool uniform() const { return zipf == 0 && measured.empty(); }
    [[nodiscard]] double replicas() const { return static_cast<double>(redundant.value_or(0)); }
};

/// Returns "uniform", "zipf:1.2" or "measured".
[[nodiscard]] std::string routing_text(const ExpertRouting& routing);

/// Checks that the experts of `program` can be chosen so. Errors (`bad_routing`): the program has no experts; an
/// exponent that is no number from 0 to 10; a number of popularities other than that of the experts; a popularity that
/// is negative or not finite; fewer popular experts than a token chooses; a negative number of replicas; more unequal
/// experts than max_unequal_experts.
[[nodiscard]] Status check_routing(const ExpertRouting& routing, const Program& program);

/// Experts that are alike.
struct RoutedReplicas {
    double experts = 1;   ///< number of these experts
    double replicas = 1;  ///< of each of them; tokens are distributed evenly among these
    double chance = 0;    ///< probability that a token goes to one of these replicas

    /// Expected number of these replicas that get one of n tokens.
    [[nodiscard]] double read(double tokens) const;
};

/// Returns the experts of a layer by id, or all in one element if they are alike; with Zipf's law ids begin with the
/// most popular expert. A token chooses A distinct ones of E experts. Expert e of popularity p_e is one of them with
/// probability q_e = min(1, l p_e), where l is such that the q_e add up to A; choices of different experts and tokens
/// are taken to be independent. Each replica is given, one after another, to the expert with the largest q_e per
/// replica, as EPLB does (deepseek-ai/EPLB, replicate_experts()). The routing must have
/// passed check_routing().
[[nodiscard]] std::vector<RoutedReplicas> routed_replicas(const ExpertRouting& routing, double experts, double choices);

/// Returns the expected number of replicas that get at least one of n tokens if each token chooses A experts: the sum
/// of 1 - (1 - q)^n over replicas, at least A.
[[nodiscard]] double expected_experts(const std::vector<RoutedReplicas>& replicas, double choices, double tokens);
/// The same, rounded to the nearest integer.
[[nodiscard]] std::int64_t likely_experts(const ExpertRouting& routing, std::int64_t experts, std::int64_t choices,
                                          std::int64_t tokens);

}  // namespace roofline::core
