// The calibrations of a request: --calibration, and those in its machine files.
#pragma once

#include <vector>

#include "app/request.hpp"
#include "base/result.hpp"
#include "calibrate/collective/expected_collective.hpp"

namespace roofline::core {

/// Returns the calibrations for a request. The built-in ones have the lowest precedence, then those in the request's
/// machine files, then the files of --calibration. Errors: a file is not a calibration (with line and column).
[[nodiscard]] Result<Calibrations> resolve_calibrations(const CalibrationRef& reference,
                                                        const std::vector<MachineRef>& machines);

/// Errors: a file contains the calibration of a server, but no model is served.
[[nodiscard]] Status check_no_servers(const CalibrationRef& reference);

}  // namespace roofline::core
