// `roofline validate`: predictions beside measurements.
#pragma once

#include "app/request.hpp"

namespace roofline::core {

/// Reads the table, predicts every row that can be and answers with the errors. Errors: a table that is none or of no known
/// kind, a machine that is not known.
[[nodiscard]] Result<Response> handle_validate(const ValidateRequest& request, Format format);

}  // namespace roofline::core
