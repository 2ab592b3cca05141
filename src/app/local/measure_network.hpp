// Handles `roofline measure network`.
#pragma once

#include "app/local/local_request.hpp"
#include "measure/network/ranks.hpp"

namespace roofline::core {

/// Joins the ranks that this process was started with and measures between them; only the first rank returns a
/// response. If there is no machine file yet, only the table of measurements is written. Errors: no MPI (absent), a
/// process that was started alone, interrupted.
[[nodiscard]] Result<Response> measure_network(const MeasureRequest& request, Format format, Progress& progress);

/// Does the same between existing ranks.
[[nodiscard]] Result<Response> measure_network(const MeasureRequest& request, Format format, Progress& progress,
                                               RankGroup& ranks);

}  // namespace roofline::core
