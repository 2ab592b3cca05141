// Prediction of a measured collective, and its conversion to a sample for the fit.
#pragma once

#include <optional>

#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/collective/fit_collectives.hpp"
#include "network/measured_collective.hpp"
#include "predict/compare/comparison.hpp"
#include "predict/compare/measured_systems.hpp"

namespace roofline::core {

/// Returns the predicted time of `row` on the slice of `group`: the lower bound, and the expected time for the
/// software, variant and dtype of the row if a model exists.
[[nodiscard]] PredictedTime predict(const MeasuredCollective& row, const MeasuredGroup& group,
                                    Calibrations& calibrations);

/// Returns the row as the fit takes it. Empty for a group of one chip.
[[nodiscard]] std::optional<CollectiveSample> sample_of(const MeasuredCollective& row, const MeasuredGroup& group);

}  // namespace roofline::core
