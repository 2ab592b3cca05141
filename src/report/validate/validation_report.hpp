// The printed forms of what `roofline validate` answers.
#pragma once

#include <string>

#include "predict/compare/validation.hpp"

namespace roofline::core {

/// Text: the errors, by system, operation, size and number of devices, and the worst rows. Markdown: the same tables.
/// CSV: a line for each row, predicted beside measured. JSON: docs/reference/json.md.
[[nodiscard]] std::string validation_text(const Validation& validation);
[[nodiscard]] std::string validation_markdown(const Validation& validation);
[[nodiscard]] std::string validation_csv(const Validation& validation);
[[nodiscard]] std::string validation_json(const Validation& validation);

/// Predicted against measured time, as SVG.
[[nodiscard]] std::string validation_plot(const Validation& validation);

}  // namespace roofline::core
