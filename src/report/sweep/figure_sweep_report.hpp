// Sweeps of figures as text, JSON, tables and a plot.
#pragma once

#include <span>
#include <string>

#include "predict/figure_sweep.hpp"
#include "report/format.hpp"
#include "report/page/page.hpp"

namespace roofline::core {

/// Returns the sweeps of one or more machines in any format.
[[nodiscard]] std::string figure_sweep_text(std::span<const FigureSweep> sweeps, Format format);

/// Returns the plot of the rate over the last axis, with a curve for each value of the other axis and each machine.
/// Errors: more curves than can be told apart.
[[nodiscard]] Result<std::string> figure_sweep_plot(std::span<const FigureSweep> sweeps);

/// Returns the report.
[[nodiscard]] ReportPage figure_sweep_page(std::span<const FigureSweep> sweeps);

}  // namespace roofline::core
