// A measured GPU as a machine.
#pragma once

#include <string>

#include "machine/machine.hpp"
#include "measure/gpu/measure_gpu.hpp"

namespace roofline::core {

/// Every rate is the best that was measured, with its spread; `date` as "2026-01-31". Levels: hbm (the highest of read, write, copy
/// and triad), l2, smem; the host's link; [measured] has each figure by itself.
[[nodiscard]] Machine machine_of_gpu(const GpuMeasurement& measurement, const std::string& date);

}  // namespace roofline::core
