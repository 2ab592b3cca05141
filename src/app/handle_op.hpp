// `roofline op`, from request to answer.
#pragma once

#include "app/request.hpp"
#include "machine/machine.hpp"

namespace roofline::core {

[[nodiscard]] Result<Response> handle_op(const OpRequest& request, Format format, bool color);

}  // namespace roofline::core
