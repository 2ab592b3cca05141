// A measured processor as a machine, such as datasheets make too.
#pragma once

#include <string>

#include "base/result.hpp"
#include "machine/machine.hpp"
#include "measure/cpu/cpu_measurement.hpp"

namespace roofline::core {

/// Peaks for contractions (FMA or dot products) and for elementwise work (FMAs mixed with additions where that is more), capacities,
/// and of each level the envelope of its bandwidths: the highest 95th percentile over the kernels, which nothing honest exceeds.
/// Where a peak was refused and the processor's ports are known, they times the clock stand in (basis derived). Errors: code `measurement`,
/// when no peak or no bandwidth of main memory is left. `date`: "2026-01-31".
[[nodiscard]] Result<Machine> machine_of(const CpuMeasurement& measurement, const std::string& date);

/// "hbm", "l1": how machine files call a cache level, or main memory (0).
[[nodiscard]] std::string level_id(int level);

}  // namespace roofline::core
