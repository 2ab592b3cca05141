// Presents a measured processor as tables.
#pragma once

#include <string>
#include <vector>

#include "app/local/fit_machine.hpp"
#include "app/local/verify_peaks.hpp"
#include "machine/machine.hpp"
#include "measure/cpu/cpu_measurement.hpp"
#include "report/measure/measure_report.hpp"

namespace roofline::core {

[[nodiscard]] MeasureReport cpu_report(const CpuMeasurement& measurement, const Machine& machine,
                                       const std::string& date);

/// Returns a table of matmuls compared with the peaks. `device` names the device that ran them.
[[nodiscard]] MeasuredTable verification_table(const std::vector<PeakVerification>& verifications,
                                               const std::string& device);

/// Return a table of the kernel models with their errors, and one of the programs that they were fitted to.
[[nodiscard]] MeasuredTable model_table(const Calibration& calibration);
[[nodiscard]] MeasuredTable timed_table(const std::vector<TimedProgram>& programs);

}  // namespace roofline::core
