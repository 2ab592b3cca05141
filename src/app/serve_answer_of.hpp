// A model on a slice that serves it: passes, memory, frontier.
#pragma once

#include "app/request.hpp"
#include "report/serve/serve_answer.hpp"

namespace roofline {

/// Errors: no model, no machine, dtypes and sizes that are none, tokens beyond the model's context, a mesh that is not the slice
/// or that serving has no use for, a program that cannot be laid out.
[[nodiscard]] Result<ServeAnswer> serve_answer_of(const ServeRequest& request);

}  // namespace roofline
