// NVIDIA's libraries, which are found and loaded when a command needs them.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "measure/gpu/cuda_api.hpp"

namespace roofline::core {

struct GpuLibraries {
    CudaDriver driver;
    int driver_version = 0;  ///< CUDA version of the driver: 12040 is 12.4
    CublasLt blas;
    Nvrtc compiler;
    std::string compiler_name;  ///< "libnvrtc.so.13"
    std::optional<Nvml> management;
};

/// Formats a version: "12.4" for 12040.
[[nodiscard]] std::string cuda_version_text(int version);

/// Loads the driver, then cuBLASLt and NVRTC of the newest toolkit that this driver can run, and NVML if it is
/// installed. `folder` is the only place to search; "" searches the system's paths, then /usr/local/cuda/lib64. Errors,
/// code `absent`: no driver, no GPU, a driver older than CUDA 12, no toolkit that the driver can run, a library that
/// lacks one of the functions.
[[nodiscard]] Result<GpuLibraries> load_gpu_libraries(const std::string& folder = {});

/// Loads NVRTC alone, which needs neither driver nor GPU. `major` is the toolkit's version, 12 or 13.
[[nodiscard]] Result<Nvrtc> load_nvrtc(const std::string& folder, int major);

}  // namespace roofline::core
