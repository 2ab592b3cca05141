// `roofline serve`
#pragma once

#include "app/request.hpp"

namespace roofline::core {

/// Exit status 1 where the slice does not hold what is asked for; the answer then says what would.
[[nodiscard]] Result<Response> handle_serve(const ServeRequest& request, Format format);

}  // namespace roofline::core
