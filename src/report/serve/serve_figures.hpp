// The figures of an answer of `roofline serve`, and the forms that are made of them: JSON (docs/json.md), tables and
// comparisons.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "predict/serve/serve_answer.hpp"
#include "report/figure.hpp"
#include "report/table.hpp"

namespace roofline::core {

/// A batch size of an answer's frontier.
struct FrontierPoint {
    const ServeAnswer& answer;
    std::size_t index = 0;
    [[nodiscard]] const ServePoint& point() const { return answer.frontier[index]; }
};

[[nodiscard]] std::vector<FrontierPoint> frontier_of(const ServeAnswer& answer);

[[nodiscard]] std::span<const AnswerFigure<ServeAnswer>> serve_figures();
[[nodiscard]] std::span<const AnswerFigure<FrontierPoint>> frontier_figures();

[[nodiscard]] std::string serve_json(const ServeAnswer& answer);

/// {"schema":1, "machines":[...]}, each as serve_json() has it.
[[nodiscard]] std::string serve_json(const std::vector<ServeAnswer>& answers);

/// The frontier, a line for each batch size: for CSV and Markdown.
[[nodiscard]] Table frontier_table(const ServeAnswer& answer);

/// A line for each slice: for CSV and Markdown.
[[nodiscard]] Table serve_compare_table(const std::vector<ServeAnswer>& answers);

/// A column for each slice, and the notes of all of them.
[[nodiscard]] std::string serve_compare_text(const std::vector<ServeAnswer>& answers);

}  // namespace roofline::core
