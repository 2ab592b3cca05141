// Converts the options of `roofline serve` to a typed question, and answers it.
#pragma once

#include "app/request.hpp"
#include "predict/serve/serve.hpp"

namespace roofline::core {

/// Returns the question about the request's first machine. Errors: invalid options; sizes and plans that do not match.
/// Each error names the option.
[[nodiscard]] Result<ServeQuestion> serve_question(const ServeRequest& request);

/// Answers the request's question, without the frontier if that is not wanted (ServeQuestion::frontier). Errors: those
/// of serve_question(), of calibration files, and of predict_serving().
[[nodiscard]] Result<ServeAnswer> serve_answer_of(const ServeRequest& request, bool frontier = true);

}  // namespace roofline::core
