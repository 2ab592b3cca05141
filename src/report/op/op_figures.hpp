// The figures of an answer of `roofline op`, of a whole program or of one of its kernels.
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
    std::vector<std::string> resources{};  ///< those that a table of several answers has columns for

    [[nodiscard]] bool whole() const { return &analysis == &answer.analysis.total; }
};

[[nodiscard]] std::span<const AnswerFigure<OpPart>> op_figures();

/// Of a row for each of several answers, and of lines that compare them, where what an answer has for each resource
/// stands behind the first.
[[nodiscard]] std::span<const FigureColumn> op_columns();
[[nodiscard]] std::span<const FigureLine> op_lines();

/// Null for none, and for what is beyond any number.
[[nodiscard]] FigureValue rational_value(const std::optional<Rational>& value);

/// Bytes sent by one chip, or by all, by tier. Of a transfer with a root by the root or by what sends to it.
[[nodiscard]] FigureValue traffic_json(const Prediction& answer, const Work& work, bool by_all = false);

}  // namespace roofline::core
