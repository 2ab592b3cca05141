// What is predicted for a measured collective, and what of it a fit takes.
#pragma once

#include <optional>

#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/collective/fit_collectives.hpp"
#include "network/measured_collective.hpp"
#include "predict/compare/comparison.hpp"
#include "predict/compare/measured_systems.hpp"

namespace roofline::core {

/// The time of `row` on the slice of `group`: the bound, and the expected time of the software, variant and dtype that
/// the row names, where constants are known.
[[nodiscard]] PredictedTime predict(const MeasuredCollective& row, const MeasuredGroup& group,
                                    Calibrations& calibrations);

/// The row as a fit takes it. Empty for a group of one chip.
[[nodiscard]] std::optional<CollectiveSample> sample_of(const MeasuredCollective& row, const MeasuredGroup& group);

}  // namespace roofline::core
