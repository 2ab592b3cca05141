// The command that prices a plan which a search found.
#pragma once

#include <string>
#include <vector>

#include "app/request.hpp"
#include "predict/plan/plan_jobs.hpp"

namespace roofline::core {

/// Returns the command that answers with the first plan of the answer alone: "roofline train MODEL" and then each option
/// with its value, quoted for a shell. It has those options of the question that the time, memory and cost of a plan
/// depend on.
[[nodiscard]] std::vector<std::string> plan_command(const PlanRequest& request, const PlanJobsAnswer& answer);

}  // namespace roofline::core
