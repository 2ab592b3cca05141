// A GPU as a device that takes the steps of a program.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "measure/run/device.hpp"

namespace roofline::core {

/// Products by cuBLASLt, everything else by kernels that are written and compiled for each step. `libraries`: see
/// load_gpu_libraries. Errors: code `absent` without a driver, a GPU or a toolkit.
[[nodiscard]] Result<std::unique_ptr<Device>> make_gpu_device(const std::string& libraries = {});

}  // namespace roofline::core
