// The quantities that an answer of `roofline serve` reports of a pass.
#pragma once

#include "predict/prediction.hpp"
#include "report/figure.hpp"

namespace roofline::core {

/// A prefill pass or a decode step. The prediction is that of experts that are chosen as the answer says.
struct ServedPass {
    const Prediction& prediction;
    const RoutingBound& least;  ///< lower bound for any choice of experts
    bool experts = false;       ///< the model has some
    [[nodiscard]] const Analysis& total() const { return prediction.analysis.total; }
};

/// Returns an object with the bounds and times of a pass in seconds, what binds it, and its messages.
[[nodiscard]] FigureValue pass_json(const ServedPass& pass);

}  // namespace roofline::core
