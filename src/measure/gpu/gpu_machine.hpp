// Converts the measurements of a GPU to a machine.
#pragma once

#include <string>

#include "machine/machine.hpp"
#include "measure/gpu/measure_gpu.hpp"

namespace roofline::core {

/// Makes a machine. Every rate is the best that was measured, with its spread; `date` is like "2026-01-31". Levels: hbm
/// (the highest of read, write, copy and triad), l2, smem; and the link to the host. [measured] lists each figure
/// separately.
[[nodiscard]] Machine machine_of_gpu(const GpuMeasurement& measurement, const std::string& date);

}  // namespace roofline::core
