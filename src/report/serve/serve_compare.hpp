// A model served on several slices, beside each other.
#pragma once

#include <string>
#include <vector>

#include "predict/serve/serve_answer.hpp"
#include "report/serve/serve_words.hpp"
#include "report/table.hpp"

namespace roofline::core {

/// A column for each slice, and the notes of all of them.
[[nodiscard]] std::string serve_compare_text(const std::vector<ServeAnswer>& answers);

/// A line for each slice: for CSV and Markdown.
[[nodiscard]] Table serve_compare_table(const std::vector<ServeAnswer>& answers);

/// {"schema":1, "machines":[...]}, each as serve_json() has it.
[[nodiscard]] std::string serve_compare_json(const std::vector<ServeAnswer>& answers);

}  // namespace roofline::core
