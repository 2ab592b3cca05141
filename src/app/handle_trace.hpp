// `roofline trace`: every kernel of a profile against its roofline.
#pragma once

#include "app/request.hpp"

namespace roofline::core {

[[nodiscard]] Result<Response> handle_trace(const TraceRequest& request, Format format);

}  // namespace roofline::core
