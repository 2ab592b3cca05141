// NVIDIA's libraries, found and loaded when a command needs them.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "measure/gpu/cuda_api.hpp"

namespace roofline::core {

struct GpuLibraries {
    CudaDriver driver;
    int driver_version = 0;  ///< of CUDA, as the driver gives it: 12040 is 12.4
    CublasLt blas;
    Nvrtc compiler;
    std::string compiler_name;  ///< "libnvrtc.so.13"
    std::optional<Nvml> management;
};

/// "12.4" of 12040.
[[nodiscard]] std::string cuda_version_text(int version);

/// Loads them: the driver first, then cuBLASLt and NVRTC of the newest toolkit that this driver can run, NVML where it is
/// there. `folder`: the only place to look in; "" for where the system looks, then /usr/local/cuda/lib64. Errors, code
/// `absent`: no driver, no GPU, a driver older than CUDA 12, no toolkit that fits it, a library without one of the functions.
[[nodiscard]] Result<GpuLibraries> load_gpu_libraries(const std::string& folder = {});

/// NVRTC alone, which needs neither driver nor GPU. `major`: the toolkit's, 12 or 13.
[[nodiscard]] Result<Nvrtc> load_nvrtc(const std::string& folder, int major);

}  // namespace roofline::core
