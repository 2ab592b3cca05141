// A GPU as a device that runs the steps of a program.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "measure/run/device.hpp"

namespace roofline::core {

/// Makes a device that runs matmuls with cuBLASLt and everything else with kernels that are generated and compiled for
/// each step. `libraries`: see load_gpu_libraries. Errors: code `absent` if there is no driver, no GPU or no toolkit.
[[nodiscard]] Result<std::unique_ptr<Device>> make_gpu_device(const std::string& libraries = {});

}  // namespace roofline::core
