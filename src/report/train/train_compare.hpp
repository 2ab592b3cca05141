// A training step on several slices, beside each other.
#pragma once

#include <string>
#include <vector>

#include "predict/train/train_answer.hpp"
#include "report/table.hpp"
#include "report/train/train_words.hpp"

namespace roofline::core {

/// A column for each slice, and the notes of all of them.
[[nodiscard]] std::string train_compare_text(const std::vector<TrainAnswer>& answers);

/// A line for each slice, each as train_table() has it: for CSV and Markdown.
[[nodiscard]] Table train_compare_table(const std::vector<TrainAnswer>& answers);

/// {"schema":1, "machines":[...]}, each as train_json() has it.
[[nodiscard]] std::string train_compare_json(const std::vector<TrainAnswer>& answers);

}  // namespace roofline::core
