// `roofline measure gpu`
#pragma once

#include <string>

#include "app/local/local_request.hpp"

namespace roofline::core {

/// Measures the first GPU and gives its machine file. `libraries`: the folder of NVIDIA's, "" for where the system has them. Errors: code
/// `absent` without a driver, a GPU or a toolkit.
[[nodiscard]] Result<Response> handle_measure_gpu(const MeasureRequest& request, Format format, Progress& progress,
                                                  const std::string& libraries = {});

}  // namespace roofline::core
