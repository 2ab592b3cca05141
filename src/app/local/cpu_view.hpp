// A measured processor as tables.
#pragma once

#include <string>

#include "machine/machine.hpp"
#include "measure/cpu/cpu_measurement.hpp"
#include "report/measure/measure_report.hpp"

namespace roofline {

[[nodiscard]] MeasureReport cpu_report(const CpuMeasurement& measurement, const Machine& machine,
                                       const std::string& date);

}  // namespace roofline
