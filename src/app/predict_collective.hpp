// What is predicted for a measured collective, and what of it a fit takes.
#pragma once

#include <optional>

#include "app/measured_systems.hpp"
#include "calibrate/comparison.hpp"
#include "calibrate/expected_collective.hpp"
#include "calibrate/fit_collectives.hpp"
#include "network/measured_collective.hpp"

namespace roofline {

/// The time of `row` on the slice of `group`: the bound, and the expected time of the software, variant and dtype that the row
/// names, where constants are known.
[[nodiscard]] Prediction predict(const MeasuredCollective& row, const MeasuredGroup& group, Calibrations& calibrations);

/// The row as a fit takes it. Empty for a group of one chip.
[[nodiscard]] std::optional<CollectiveSample> sample_of(const MeasuredCollective& row, const MeasuredGroup& group);

}  // namespace roofline
