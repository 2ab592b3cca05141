// Answers `roofline fit`.
#pragma once

#include "app/request.hpp"

namespace roofline::core {

[[nodiscard]] Result<Response> handle_fit(const FitRequest& request, Format format);

}  // namespace roofline::core
