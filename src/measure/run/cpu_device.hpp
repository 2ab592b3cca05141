// The processor of this machine and its memory, as a device that runs programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "measure/run/device.hpp"

namespace roofline::core {

struct CpuOptions {
    int threads = 0;      ///< 0: one thread per available core
    bool library = true;  ///< false: matmuls do not use oneDNN even if it is installed
};

/// Errors: more threads were requested than there are processors.
[[nodiscard]] Result<std::unique_ptr<Device>> make_cpu_device(const CpuOptions& options = {});

/// Sets OpenMP's environment variables so that only this program binds threads: a user's settings could move or pin the
/// threads that are bound here one by one. (With OMP_PROC_BIND=true a library may run all of its threads on one core.)
/// OpenMP reads the variables once, when it is loaded. Call this function first while the process has a single thread.
void configure_openmp(std::size_t threads);

/// Bytes that can be allocated now: the smaller of what the system reports as available and what a container's limit
/// leaves.
[[nodiscard]] std::int64_t free_memory();

/// Bytes of the last-level cache as the system reports them; 32 MB where it does not.
[[nodiscard]] std::int64_t last_level_cache();

}  // namespace roofline::core
