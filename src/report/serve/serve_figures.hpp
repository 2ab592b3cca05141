// The quantities that an answer of `roofline serve` reports, as JSON (docs/reference/json.md), tables and comparisons.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "predict/serve/serve_answer.hpp"
#include "report/figure.hpp"
#include "report/table.hpp"

namespace roofline::core {

[[nodiscard]] std::span<const AnswerFigure<ServeAnswer>> serve_figures();

[[nodiscard]] std::string serve_json(const ServeAnswer& answer);

/// Returns {"schema":1, "machines":[...]} with the serve_json() of each answer.
[[nodiscard]] std::string serve_json(const std::vector<ServeAnswer>& answers);

/// Returns a table with one row per slice, for CSV and Markdown.
[[nodiscard]] Table serve_compare_table(const std::vector<ServeAnswer>& answers);

/// Returns a table with one column per slice, and the notes of all answers.
/// Returns the table of that text.
[[nodiscard]] Table serve_comparison(const std::vector<ServeAnswer>& answers);
[[nodiscard]] std::string serve_compare_text(const std::vector<ServeAnswer>& answers);

}  // namespace roofline::core
