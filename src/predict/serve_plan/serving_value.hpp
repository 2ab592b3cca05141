// What candidates of a search for a set-up are worth, by their estimates.
#pragma once

#include <cstdint>
#include <vector>

#include "predict/serve_plan/serving_candidates.hpp"
#include "predict/serve_plan/serving_search.hpp"

namespace roofline::core {

/// Returns what is to be least, as value_of() of a simulated set-up.
[[nodiscard]] double value_of(const ServingSearch& search, const ServingCandidate& candidate);

/// Returns how far times are beyond the targets: 1 or less if they meet them.
[[nodiscard]] double excess_of(const ServingTargets& targets, double ttft_s, double tpot_s);
[[nodiscard]] double excess_of(const ServingSearch& search, const ServingRates& rates);

/// Returns the requests/s of each of so many deployments, with as many digits as the command has.
[[nodiscard]] double rate_of_each(const ServingSearch& search, std::int64_t count);

/// Returns the candidate with the most requests/s per chip in each range of tokens/s per user, from the fewest of these
/// on. Those than which another has more of both are left out, and at most 32 are returned.
[[nodiscard]] std::vector<const ServingCandidate*> best_of_ranges(const std::vector<ServingCandidate>& candidates);

}  // namespace roofline::core
