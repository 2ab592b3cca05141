// Runs a command in several processes, one of which returns the response.
#pragma once

#include <functional>
#include <string>

#include "app/request.hpp"
#include "measure/network/ranks.hpp"

namespace roofline::core {

/// Joins the ranks, runs `work` on all of them and returns the response of the first; the others return an empty one.
/// The first rank reports an error that all ranks have. An error of a single rank, in an exchange, is reported by that
/// rank and ends the others through the launcher. An exchange that takes longer than `max_s` seconds ends the process.
/// Errors: code `absent` without MPI; a process that was started alone, with the command `line` that starts several as
/// the hint.
[[nodiscard]] Result<Response> on_ranks(const std::string& line, double max_s,
                                        const std::function<Result<Response>(RankGroup&)>& work);

}  // namespace roofline::core
