// Vector instructions per cycle that a processor's ports execute: measured peaks must match them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/cpu/features.hpp"
#include "measure/cpu/peak_kernels.hpp"

namespace roofline::core {

/// Microarchitecture, e.g. "Zen 3", "Ice Lake server"; "" if the processor is not in the table.
[[nodiscard]] std::string_view microarchitecture(const CpuFeatures& features);

/// Possible instructions per cycle for the kernel, ascending: one if the processor is known, two if some processors of
/// its kind have half the ports; for unknown processors all rates that any processor has; none for mixtures and for
/// compiled kernels. Sources: Intel optimization reference manual; AMD software optimization guides for families 17h,
/// 19h, 1Ah; uops.info.
[[nodiscard]] std::vector<double> port_rates(const CpuFeatures& features, const PeakKernel& kernel);

struct PortVerdict {
    bool known = false;       ///< the figure is a possible rate, or no rate is known
    double rate = 0;          ///< smallest possible rate in operations per cycle; 0: unknown
    double share = 0;         ///< fraction of that rate
    double instructions = 0;  ///< that rate in instructions per cycle
    bool sure = false;        ///< no other rate is possible
};

/// Judges whether operations per cycle match what the ports can do: at most 5 % below one of the rates and 3 % above
/// it. `rates` ascend; a rate that is exceeded by more is impossible.
[[nodiscard]] PortVerdict judge_port_rate(const PeakKernel& kernel, const std::vector<double>& rates,
                                          double ops_per_cycle);

}  // namespace roofline::core
