// From the words of `roofline train` to the question that they ask, and its answer.
#pragma once

#include "app/request.hpp"
#include "predict/train/train.hpp"

namespace roofline::core {

/// The question about the request's first machine. Errors: words that mean nothing, and sizes, plans and options that
/// do not go together; each names the option.
[[nodiscard]] Result<TrainQuestion> train_question(const TrainRequest& request);

/// Its answer. Errors: those of the question, of files of constants, and of predict_training().
[[nodiscard]] Result<TrainAnswer> train_answer_of(const TrainRequest& request);

}  // namespace roofline::core
