// The figures of an answer of `roofline train`, and the forms that are made of them: JSON (docs/json.md), tables and
// comparisons.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "predict/train/train_answer.hpp"
#include "report/figure.hpp"
#include "report/table.hpp"

namespace roofline::core {

[[nodiscard]] std::span<const AnswerFigure<TrainAnswer>> train_figures();

[[nodiscard]] std::string train_json(const TrainAnswer& answer);

/// {"schema":1, "machines":[...]}, each as train_json() has it.
[[nodiscard]] std::string train_json(const std::vector<TrainAnswer>& answers);

/// A line of figures in SI base units for each answer: for CSV and Markdown.
[[nodiscard]] Table train_table(std::span<const TrainAnswer> answers);

/// A column for each slice, and the notes of all of them.
[[nodiscard]] std::string train_compare_text(const std::vector<TrainAnswer>& answers);

}  // namespace roofline::core
