// Which of its options each job takes, so that all jobs together cost the least and no pool has fewer chips than they
// take: a multiple-choice knapsack with several capacities, solved as a mixed-integer program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "plan/milp.hpp"

namespace roofline::core {

/// A way to run a job.
struct AssignmentOption {
    std::size_t pool = 0;
    std::int64_t chips = 1;  ///< at least 1, of that pool, for as long as any other job runs
    double usd = 0;          ///< at least 0
};

struct Assignment {
    std::vector<std::size_t> chosen;  ///< of each job its option
    double usd = 0;
    double bound_usd = 0;  ///< no assignment costs less; equal to `usd` if this one is proven to be the least
};

/// Assigns each job one of its options, of which each job must have at least one. `chips` has those of each pool.
/// Errors: `infeasible` if not all jobs fit at the same time; those of the solver.
[[nodiscard]] Result<Assignment> assign(std::span<const std::int64_t> chips,
                                        std::span<const std::vector<AssignmentOption>> jobs, MilpSolver& solver);

/// Returns the chips that each pool lacks so that all jobs fit: the fewest of all pools together. Errors: those of the
/// solver.
[[nodiscard]] Result<std::vector<std::int64_t>> lacking_chips(std::span<const std::int64_t> chips,
                                                              std::span<const std::vector<AssignmentOption>> jobs,
                                                              MilpSolver& solver);

}  // namespace roofline::core
