// A model that a slice trains: plan, memory, step, cost.
#pragma once

#include "app/request.hpp"
#include "report/train/train_answer.hpp"

namespace roofline {

/// The answer for the first slice of a request, which names one at least. Errors: words, sizes and dtypes that mean nothing; no model; a slice that cannot be
/// wired; a plan that the slice or the model does not take; a batch that is not given or does not divide.
[[nodiscard]] Result<TrainAnswer> train_answer_of(const TrainRequest& request);

}  // namespace roofline
