// One curve through measured times: the segments that are least off, found by trying partitions.
#pragma once

#include <vector>

#include "calibrate/collective/collective_law.hpp"

namespace roofline::core {

struct TimedPoint {
    CollectivePoint point;
    double time_s = 0;
};

/// Which terms a curve's segments may have; a base they always may.
struct CurveTerms {
    StepCount steps = StepCount::linear;
    bool step = true;
    bool link = true;
    bool buffer = true;
    bool one_shot = false;
};

struct CurveFit {
    LawCurve curve;
    double loss = 0;  ///< sum over the points of |ln(fitted / measured)|
};

/// Fits a curve of at most `segments` segments (fewer when there are less than five points for each) to the points.
/// Relative deviations count, and count once, not squared: a few wild rows do not bend it. For each way to cut the
/// range of sizes into stretches, segments and the points nearest below which they are the cheapest are improved in
/// turn; the best result is taken. A limit is put in where it lowers the loss by three tenths: only a size at which a
/// library switches does that. The same points in another order may only differ by rounding. `points` must not be
/// empty, their times above 0.
[[nodiscard]] CurveFit fit_curve(const std::vector<TimedPoint>& points, int segments, const CurveTerms& terms);

}  // namespace roofline::core
