// Printed forms of the result of `roofline fit`.
#pragma once

#include <string>

#include "predict/compare/fit_tables.hpp"
#include "report/format.hpp"

namespace roofline::core {

[[nodiscard]] std::string fit_report(const TablesFit& report, Format format);

}  // namespace roofline::core
