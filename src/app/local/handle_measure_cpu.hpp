// `roofline measure cpu`
#pragma once

#include "app/local/local_request.hpp"

namespace roofline::core {

/// Measures the processor. The answer's one file is the machine; nothing is written when it fails.
[[nodiscard]] Result<Response> handle_measure_cpu(const MeasureRequest& request, Format format, bool color,
                                                  Progress& progress);

}  // namespace roofline::core
