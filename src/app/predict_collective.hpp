// What is predicted for a measured collective.
#pragma once

#include "app/measured_systems.hpp"
#include "calibrate/comparison.hpp"
#include "network/measured_collective.hpp"

namespace roofline {

/// The time of `row` on the slice of `group`. Nothing is calibrated, so there is no expected time.
[[nodiscard]] Prediction predict(const MeasuredCollective& row, const MeasuredGroup& group);

}  // namespace roofline
