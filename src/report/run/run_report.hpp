// The printed forms of runs beside predictions.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "predict/compare/run_answer.hpp"
#include "report/format.hpp"

namespace roofline::core {

/// Text, JSON, CSV or Markdown.
[[nodiscard]] std::string run_report(const RunAnswer& answer, Format format, bool color);

/// The roofline or sweep plot of a prediction, with what was measured on it. Errors: those of op_plot().
[[nodiscard]] Result<std::string> run_plot(const RunAnswer& answer, const std::vector<Prediction>& predicted,
                                           PlotKind kind);

}  // namespace roofline::core
