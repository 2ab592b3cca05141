// Measures this processor: peaks by dtype, latencies, bandwidths.
#pragma once

#include "measure/cpu/cpu_measurement.hpp"
#include "measure/progress.hpp"

namespace roofline::core {

/// Uses one thread on every core that this process may use. Errors: interrupted; no threads; no memory; a kernel that computes something
/// wrong (code `check_failed`).
[[nodiscard]] Result<CpuMeasurement> measure_cpu(const CpuMeasureOptions& options, Progress& progress);

/// What the kernel that gave the peak of matrix products in this dtype reaches now on as many threads, in operations a second: the
/// 95th percentile, as of the peak. 0 where none gave one. Errors: as measure_cpu().
[[nodiscard]] Result<double> peak_now(const CpuMeasurement& measurement, const CpuMeasureOptions& options, Dtype dtype);

}  // namespace roofline::core
