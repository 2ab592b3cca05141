// What is done by several processes together and answered by one.
#pragma once

#include <functional>
#include <string>

#include "app/request.hpp"
#include "measure/network/ranks.hpp"

namespace roofline::core {

/// Joins the ranks, has all of them do `work` and lets the first alone answer. An error that all ranks have is its to tell; one
/// that a rank has by itself, of an exchange, is told by that rank, and ends the others through the launcher. Errors: code
/// `absent` without MPI (an exchange that lasts longer than `most_s` seconds ends the process); a process that was started alone, with the `line` that starts several.
[[nodiscard]] Result<Response> on_ranks(const std::string& line, double most_s,
                                        const std::function<Result<Response>(RankGroup&)>& work);

}  // namespace roofline::core
