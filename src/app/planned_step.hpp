// The planned step that a recorded profile is compared with: that of the model and plan of `roofline trace --model`.
#pragma once

#include "app/request.hpp"
#include "predict/profile/step_comparison.hpp"

namespace roofline::core {

/// Whether a request has any option of a model's plan.
[[nodiscard]] bool has_plan(const TraceRequest& request);

/// Returns the training step, or prefill and decode, of a request with a model. Errors: neither or both of a training
/// batch and a batch of sequences; a slice of several chips without a plan; those of train_answer_of() and
/// serve_answer_of().
[[nodiscard]] Result<PlannedStep> planned_step(const TraceRequest& request);

}  // namespace roofline::core
