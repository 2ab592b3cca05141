// Printed forms of the answer of `roofline validate`.
#pragma once

#include <string>

#include "predict/compare/validation.hpp"
#include "report/page/page.hpp"

namespace roofline::core {

/// Text: errors by system, operation, size and number of devices, and the rows with the largest errors. Markdown: the
/// same tables. CSV: one line per row, predicted and measured. JSON: docs/reference/json.md.
[[nodiscard]] std::string validation_text(const Validation& validation);
[[nodiscard]] std::string validation_markdown(const Validation& validation);
[[nodiscard]] std::string validation_csv(const Validation& validation);
[[nodiscard]] std::string validation_json(const Validation& validation);

/// Returns the report: the tables of the text and both plots.
[[nodiscard]] ReportPage validation_page(const Validation& validation);

/// Returns a plot of predicted over measured times as SVG.
[[nodiscard]] std::string validation_plot(const Validation& validation);

/// Returns a plot of tokens/s per chip over tokens/s per user as SVG: measured and expected curves of the set-ups of
/// the task with the most expected points, at most eight set-ups, those with the most points. Errors: the table has no
/// set-up of a served model with two expected points.
[[nodiscard]] Result<std::string> frontier_plot(const Validation& validation);

}  // namespace roofline::core
