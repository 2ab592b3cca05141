// Converts the measurements of a processor to a machine, as datasheets are.
#pragma once

#include <string>

#include "base/result.hpp"
#include "machine/machine.hpp"
#include "measure/cpu/cpu_measurement.hpp"

namespace roofline::core {

/// Makes a machine with peaks for contractions (FMAs or dot products) and for elementwise work (FMAs mixed with
/// additions if that is faster), capacities, and for each level the envelope of its bandwidths: the highest 95th
/// percentile over the kernels, which real programs do not exceed. If a peak was rejected and the processor's ports are
/// known, their rate times the clock is used (basis derived). `date` is like "2026-01-31". Errors: code `measurement`
/// if no peak or no main memory bandwidth is available.
[[nodiscard]] Result<Machine> machine_of(const CpuMeasurement& measurement, const std::string& date);

/// Name of a cache level, or of main memory (0), in machine files: "hbm", "l1".
[[nodiscard]] std::string level_id(int level);

}  // namespace roofline::core
