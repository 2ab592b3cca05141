// Printed forms of runs next to their predictions.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "predict/compare/run_answer.hpp"
#include "report/format.hpp"

namespace roofline::core {

/// Returns the runs as text, JSON, CSV or Markdown.
[[nodiscard]] std::string run_report(const RunAnswer& answer, Format format, bool color);

/// Returns the roofline or sweep plot of a prediction with the measured times. Errors: those of op_plot().
[[nodiscard]] Result<std::string> run_plot(const RunAnswer& answer, const std::vector<Prediction>& predicted,
                                           PlotKind kind);

}  // namespace roofline::core
