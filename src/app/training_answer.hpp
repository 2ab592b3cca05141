// Answers a request of `roofline train`, with the plan that it gives or with the fastest one that a search finds.
#pragma once

#include "app/request.hpp"
#include "predict/train/train_answer.hpp"

namespace roofline::core {

/// Answers the request for its first machine. Without `mesh` and without an assumed utilization the plan is the best
/// one of `roofline plan train`; if nothing fits, it is the plan that needs the least memory, or FSDP over all chips if
/// none was priced, and a note says so. Errors: those of train_question() or plan_question_of_training(), of
/// calibration files, of find_plans() and of predict_training().
[[nodiscard]] Result<TrainAnswer> train_answer_of(const TrainRequest& request);

}  // namespace roofline::core
