// Handles `roofline measure gpu`.
#pragma once

#include <string>

#include "app/local/local_request.hpp"

namespace roofline::core {

/// Measures the first GPU and returns its machine file. `libraries` is the folder of NVIDIA's libraries; "" uses the
/// system's paths. Errors: code `absent` if there is no driver, no GPU or no toolkit.
[[nodiscard]] Result<Response> handle_measure_gpu(const MeasureRequest& request, Format format, Progress& progress,
                                                  const std::string& libraries = {});

}  // namespace roofline::core
