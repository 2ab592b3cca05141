// A search for plans that several processes share.
#pragma once

#include "app/request.hpp"
#include "measure/network/ranks.hpp"
#include "measure/progress.hpp"

namespace roofline::core {

/// Searches one part per rank. The first rank returns the answer of the whole search, the others an empty response.
/// Errors, on all ranks: those of search_part() on any rank, and of `roofline plan --merge`.
[[nodiscard]] Result<Response> plan_on_ranks(const PlanRequest& request, Format format, Progress& progress,
                                             RankGroup& ranks);

}  // namespace roofline::core
