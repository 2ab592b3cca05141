// The quantities that an answer of `roofline train` reports, as JSON (docs/reference/json.md), tables and comparisons.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "predict/train/train_answer.hpp"
#include "report/figure.hpp"
#include "report/table.hpp"

namespace roofline::core {

[[nodiscard]] std::span<const AnswerFigure<TrainAnswer>> train_figures();

/// Returns the members of an answer that tell plans of the same job apart.
[[nodiscard]] FigureValue brief_plan(const TrainAnswer& answer);

[[nodiscard]] std::string train_json(const TrainAnswer& answer);

/// Returns {"schema":1, "machines":[...]} with the train_json() of each answer.
[[nodiscard]] std::string train_json(const std::vector<TrainAnswer>& answers);

/// Returns a table in SI base units with one row per answer, for CSV and Markdown.
[[nodiscard]] Table train_table(std::span<const TrainAnswer> answers);

/// Returns what all slices have in common: the model, the batch and the recipe.
[[nodiscard]] std::string train_heading(const TrainAnswer& front);
/// Returns a table with one column per slice.
[[nodiscard]] Table train_comparison(const std::vector<TrainAnswer>& answers);
/// Returns the same as text, and the notes of all answers.
[[nodiscard]] std::string train_compare_text(const std::vector<TrainAnswer>& answers);

}  // namespace roofline::core
