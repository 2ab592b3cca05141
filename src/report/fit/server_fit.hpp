// Printed forms of the result of a fit of servers.
#pragma once

#include <string>

#include "predict/compare/fit_tables.hpp"
#include "report/format.hpp"

namespace roofline::core {

[[nodiscard]] std::string server_fit_report(const ServersFit& report, Format format);

}  // namespace roofline::core
