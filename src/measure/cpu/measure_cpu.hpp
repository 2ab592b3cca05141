// Measures this processor: peaks by dtype, latencies, bandwidths.
#pragma once

#include "measure/cpu/cpu_measurement.hpp"
#include "measure/progress.hpp"

namespace roofline {

/// Uses one thread on every core that this process may use. Errors: interrupted; no threads; no memory; a kernel that computes something
/// wrong (code `check_failed`).
[[nodiscard]] Result<CpuMeasurement> measure_cpu(const CpuMeasureOptions& options, Progress& progress);

}  // namespace roofline
