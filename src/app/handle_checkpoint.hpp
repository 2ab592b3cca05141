// Handles `roofline model` for weight files.
#pragma once

#include "app/request.hpp"

namespace roofline::core {

/// Reports the headers of `request.checkpoint`, together with the configuration if there is one. Errors: those of the
/// readers; options that need a configuration.
[[nodiscard]] Result<Response> handle_checkpoint(const ModelRequest& request, Format format);

}  // namespace roofline::core
