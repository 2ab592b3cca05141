// A piecewise curve through measured times. Its segments minimize relative deviations and are found by trying
// partitions.
#pragma once

#include <vector>

#include "calibrate/collective/collective_model.hpp"

namespace roofline::core {

/// A collective and its measured time in seconds.
struct TimedPoint {
    CollectivePoint point;
    double time_s = 0;
};

/// The terms that the segments of a curve may have, in addition to a constant.
struct CurveTerms {
    StepCount steps = StepCount::linear;
    bool step = true;
    bool link = true;
    bool buffer = true;
    bool one_shot = false;
};

/// A fitted curve and its loss.
struct CurveFit {
    TimeCurve curve;
    double loss = 0;  ///< sum over the points of |ln(fitted / measured)|
};

/// Fits a curve of at most `segments` segments to the points; there are fewer segments if there are fewer than five
/// points per segment. It minimizes absolute relative deviations, not their squares, so that a few outliers have little
/// influence. For each partition of the range of sizes into intervals, two steps alternate: the segments are fitted to
/// their points, and each point is assigned to its cheapest segment. The best result is returned. A limit, at which the
/// curve changes discontinuously, is added if the time does not fall there and the loss falls by 30 %, as it does only
/// where a library switches algorithms. The order of the points affects the result only by rounding. `points` must not
/// be empty and their times must be positive.
[[nodiscard]] CurveFit fit_curve(const std::vector<TimedPoint>& points, int segments, const CurveTerms& terms);

}  // namespace roofline::core
