// The printed forms of what a fit of servers found.
#pragma once

#include <string>

#include "predict/compare/fit_tables.hpp"
#include "report/format.hpp"

namespace roofline::core {

[[nodiscard]] std::string server_fit_report(const ServersFit& report, Format format);

}  // namespace roofline::core
