// The processor of this machine, and its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "measure/run/device.hpp"

namespace roofline::core {

struct CpuOptions {
    int threads = 0;      ///< 0: one for each core that may be used
    bool library = true;  ///< false: matrix products without oneDNN, whether it is there or not
};

/// Errors: more threads than processors.
[[nodiscard]] Result<std::unique_ptr<Device>> make_cpu_device(const CpuOptions& options = {});

/// Puts settings of OpenMP into the environment that leave binding to us: what a user's says would move or tie the threads that
/// are bound here one by one. (With OMP_PROC_BIND=true a library may have all of its threads on one core.) The library
/// reads them once, when it is loaded. Best called for the first time while the process has one thread.
void settle_openmp(std::size_t threads);

/// Bytes that can be allocated now: what the system says is available, and what a container's limit leaves.
[[nodiscard]] std::int64_t free_memory();

/// Bytes of the last level of cache, as the system says; 32 MB where it does not.
[[nodiscard]] std::int64_t last_level_cache();

}  // namespace roofline::core
