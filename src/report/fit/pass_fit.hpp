// Printed forms of the fit of forward-pass models.
#pragma once

#include <string>

#include "predict/compare/fit_tables.hpp"
#include "report/format.hpp"

namespace roofline::core {

[[nodiscard]] std::string pass_fit_report(const PassesFit& report, Format format);

}  // namespace roofline::core
