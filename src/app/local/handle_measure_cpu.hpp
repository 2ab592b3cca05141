// Handles `roofline measure cpu`.
#pragma once

#include "app/local/local_request.hpp"

namespace roofline::core {

/// Measures the processor. The only file of the response is the machine file; if the measurement fails, nothing is
/// written.
[[nodiscard]] Result<Response> handle_measure_cpu(const MeasureRequest& request, Format format, bool color,
                                                  Progress& progress);

}  // namespace roofline::core
