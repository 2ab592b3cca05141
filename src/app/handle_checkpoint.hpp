// `roofline model` of files of weights.
#pragma once

#include "app/request.hpp"

namespace roofline::core {

/// What the headers of `request.checkpoint` say, beside the configuration where there is one. Errors: those of the
/// readers; options that ask for what only a configuration says.
[[nodiscard]] Result<Response> handle_checkpoint(const ModelRequest& request, Format format);

}  // namespace roofline::core
