// Measures this processor: peaks by dtype, latencies, bandwidths.
#pragma once

#include "measure/cpu/cpu_measurement.hpp"
#include "measure/progress.hpp"

namespace roofline::core {

/// Measures with one thread on every core that this process may use. Errors: interrupted; no threads; no memory; a
/// kernel that computes a wrong result (code `check_failed`).
[[nodiscard]] Result<CpuMeasurement> measure_cpu(const CpuMeasureOptions& options, Progress& progress);

/// Current rate, in operations per second, of the kernel that gave the matmul peak in this dtype, with as many threads:
/// the 95th percentile, as for the peak. 0 if no kernel gave one. Errors: as measure_cpu().
[[nodiscard]] Result<double> peak_now(const CpuMeasurement& measurement, const CpuMeasureOptions& options, Dtype dtype);

}  // namespace roofline::core
