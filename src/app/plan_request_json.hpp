// The question of a search as JSON, so that the parts of a search say what was asked, with the contents of its files.
#pragma once

#include <optional>
#include <string>

#include "app/request.hpp"
#include "report/figure.hpp"
#include "text/value.hpp"

namespace roofline::core {

/// Returns all that the answer depends on; not the part, the number of threads and the like.
[[nodiscard]] FigureValue plan_request_json(const PlanRequest& request);

/// Reads what plan_request_json() has written. Errors: code `bad_part` for a key that is missing or has another kind of
/// value; the caller names the file.
[[nodiscard]] Result<PlanRequest> read_plan_request(const FileValue& value);

/// Returns the first key in which two questions differ; empty if they are the same.
[[nodiscard]] std::optional<std::string> difference(const PlanRequest& a, const PlanRequest& b);

}  // namespace roofline::core
