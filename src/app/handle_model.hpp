// `roofline model`.
#pragma once

#include "app/request.hpp"

namespace roofline::core {

[[nodiscard]] Result<Response> handle_model(const ModelRequest& request, Format format);

}  // namespace roofline::core
