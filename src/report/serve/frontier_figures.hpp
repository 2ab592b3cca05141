// The quantities that an answer of `roofline serve` reports of each batch size on its frontier.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "predict/serve/serve_answer.hpp"
#include "report/figure.hpp"
#include "report/table.hpp"

namespace roofline::core {

/// A batch size on the frontier of an answer.
struct FrontierPoint {
    const ServeAnswer& answer;
    std::size_t index = 0;
    [[nodiscard]] const ServePoint& point() const { return answer.frontier[index]; }
};

[[nodiscard]] std::vector<FrontierPoint> frontier_of(const ServeAnswer& answer);

[[nodiscard]] std::span<const AnswerFigure<FrontierPoint>> frontier_figures();

/// Returns the frontier with one row per batch size, for CSV and Markdown.
[[nodiscard]] Table frontier_table(const ServeAnswer& answer);

}  // namespace roofline::core
