// Answers for one machine of `roofline plan serve`, and which of its set-ups `roofline serve` takes.
#pragma once

#include "app/request.hpp"
#include "predict/serve/serve_answer.hpp"
#include "report/serve_plan/serving_plan_report.hpp"

namespace roofline::core {

/// Searches the set-ups of a request about one machine. Without elasticities it takes less time. Errors: those of
/// serving_plan_question(), of calibration files, and of search_serving().
[[nodiscard]] Result<ServingPlanReport> serving_plan_answer(const ServePlanRequest& job, bool elasticities = true);

/// Whether a request of `roofline serve` leaves the set-up open: no plan, no number of requests, no rate, no pools.
[[nodiscard]] bool leaves_open(const ServeRequest& request);

/// Answers a request of `roofline serve`, without the frontier if that is not wanted. If it leaves the set-up open, it
/// is the best one of serving_plan_answer() with the same targets; if there is none, as if it were about one sequence.
/// Errors: those of serve_answer_of().
[[nodiscard]] Result<ServeAnswer> best_serve_answer(const ServeRequest& request, bool frontier = true);

}  // namespace roofline::core
