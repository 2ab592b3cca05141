// Printed forms of runs next to their predictions.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "predict/compare/run_answer.hpp"
#include "report/format.hpp"
#include "report/page/page.hpp"

namespace roofline::core {

/// Returns the runs as text, JSON, CSV or Markdown.
[[nodiscard]] std::string run_report(const RunAnswer& answer, Format format, bool color);

/// Returns the report. `predicted` are the predictions that the pictures show beside the measured times; empty if there
/// are none.
[[nodiscard]] ReportPage run_page(const RunAnswer& answer, const std::vector<Prediction>& predicted);

/// Returns the roofline or sweep plot of a prediction with the measured times. Errors: those of op_plot().
[[nodiscard]] Result<std::string> run_plot(const RunAnswer& answer, const std::vector<Prediction>& predicted,
                                           PlotKind kind);

}  // namespace roofline::core
