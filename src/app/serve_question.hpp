// From the words of `roofline serve` to the question that they ask, and its answer.
#pragma once

#include "app/request.hpp"
#include "predict/serve/serve.hpp"

namespace roofline::core {

/// The question about the request's first machine. Errors: words that mean nothing, sizes and plans that do not go
/// together; each names the option.
[[nodiscard]] Result<ServeQuestion> serve_question(const ServeRequest& request);

/// Its answer. Errors: those of the question, of files of constants, and of predict_serving().
[[nodiscard]] Result<ServeAnswer> serve_answer_of(const ServeRequest& request);

}  // namespace roofline::core
