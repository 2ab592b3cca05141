// Converts the options of `roofline plan` to a typed question, and answers it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/request.hpp"
#include "predict/plan/plan_jobs.hpp"

namespace roofline::core {

/// Returns a request for each slice, batch, sequence length, matmul dtype and optimizer of a request. Errors:
/// those of planned_slices(); ranges that are none; more than `most_plan_jobs` jobs.
[[nodiscard]] Result<std::vector<PlanRequest>> plan_jobs_of(const PlanRequest& request);

/// Returns the question for the best plan of the jobs of plan_jobs_of(), in their order. Errors: those of it, of
/// train_job(), plan_aims() and plan_limits(); degrees that are no number of the only slice's chips; a choice that is
/// fixed and left out; a limit on the plans of several jobs.
[[nodiscard]] Result<PlanJobsQuestion> plan_question(const PlanRequest& request);

/// Returns the question for the fastest plan of a training whose plan is not given, on its first machine. Errors: those
/// of train_job(); a choice that no plan has.
[[nodiscard]] Result<PlanQuestion> plan_question_of_training(const TrainRequest& request);

/// Returns the part that a word names: "3/64", "leading"; "" is all. Errors: it names none.
[[nodiscard]] Result<PlanPart> part_option(const std::string& word);

/// Returns the question of a search in parts. Errors: those of plan_question(); a part that is none; several jobs;
/// other objectives than time; limits.
[[nodiscard]] Result<PlanQuestion> part_question(const PlanRequest& request);

/// Returns the calibrations that the request names. Errors: those of calibration files.
[[nodiscard]] Result<std::shared_ptr<Calibrations>> plan_calibrations(const PlanRequest& request);

/// Answers the request's question. Errors: those of plan_question(), of calibration files, and of predict_plan_jobs().
[[nodiscard]] Result<PlanJobsAnswer> plan_answer_of(const PlanRequest& request);

}  // namespace roofline::core
