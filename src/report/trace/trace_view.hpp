// Printed forms of an answer of `roofline trace`.
#pragma once

#include <string>

#include "predict/compare/trace.hpp"
#include "report/format.hpp"
#include "report/page/page.hpp"

namespace roofline::core {

[[nodiscard]] std::string trace_text(const ProfileComparison& view);
[[nodiscard]] std::string trace_view(const ProfileComparison& view, Format format);

/// Returns the roofline plot of the machine with the kernels of the trace; those that took longest are labelled first.
[[nodiscard]] std::string trace_plot(const ProfileComparison& view);

/// Returns the report.
[[nodiscard]] ReportPage trace_page(const ProfileComparison& view);

}  // namespace roofline::core
