// `roofline measure import`: what other tools measured, as a machine file.
#pragma once

#include "app/request.hpp"

namespace roofline::core {

[[nodiscard]] Result<Response> handle_import(const ImportRequest& request, Format format);

}  // namespace roofline::core
