// What --calibration and the machine files of a request say about constants of expected times.
#pragma once

#include <vector>

#include "app/request.hpp"
#include "base/result.hpp"
#include "calibrate/collective/expected_collective.hpp"

namespace roofline::core {

/// The constants that a request means: those of the program; for the machines that are files, those that stand in them,
/// which go first; and those named by --calibration, which go before all. Errors: a file that is no calibration, with
/// line and column.
[[nodiscard]] Result<Calibrations> resolve_calibrations(const CalibrationRef& reference,
                                                        const std::vector<MachineRef>& machines);

/// Errors: a file of servers' constants, where no model is served.
[[nodiscard]] Status without_servers(const CalibrationRef& reference);

}  // namespace roofline::core
