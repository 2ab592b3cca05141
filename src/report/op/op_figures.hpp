// The quantities that an answer of `roofline op` reports, for a whole program or one of its kernels.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "predict/prediction.hpp"
#include "report/figure.hpp"

namespace roofline::core {

struct OpPart {
    const Prediction& answer;
    const Analysis& analysis;              ///< of the whole program, or of a kernel
    std::vector<std::string> resources{};  ///< those for which a table of several answers has columns

    [[nodiscard]] bool whole() const { return &analysis == &answer.analysis.total; }
};

[[nodiscard]] std::span<const AnswerFigure<OpPart>> op_figures();

/// Return the columns of a table with one row per answer, and the rows of a comparison of answers. Entries per resource
/// follow the first of them.
[[nodiscard]] std::span<const FigureColumn> op_columns();
[[nodiscard]] std::span<const FigureLine> op_lines();

/// Returns null for an empty optional and for a value that exceeds the range of numbers.
[[nodiscard]] FigureValue rational_value(const std::optional<Rational>& value);

/// Returns the bytes sent per tier, by one chip or by all. For a transfer with a root they are the bytes that the root
/// sends, or that are sent to it.
[[nodiscard]] FigureValue traffic_json(const Prediction& answer, const Work& work, bool by_all = false);

}  // namespace roofline::core
