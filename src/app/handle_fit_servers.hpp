// `roofline fit` for tables of served models: what servers add to the kernels of their passes.
#pragma once

#include "app/request.hpp"

namespace roofline::core {

/// Whether all tables are of served models.
[[nodiscard]] bool are_serving_tables(const FitRequest& request);

/// One file for all libraries. Errors: a table that is not well-formed; an output that is a directory.
[[nodiscard]] Result<Response> handle_fit_servers(const FitRequest& request, Format format);

}  // namespace roofline::core
