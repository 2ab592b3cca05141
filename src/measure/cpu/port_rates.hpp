// How many vector instructions a processor's ports take in a cycle: what a measured peak must come out at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/cpu/features.hpp"
#include "measure/cpu/peak_kernels.hpp"

namespace roofline::core {

/// "Zen 3", "Ice Lake server"; "" when the processor is not in the table.
[[nodiscard]] std::string_view microarchitecture(const CpuFeatures& features);

/// Instructions a cycle that are possible for the kernel, ascending: one where the processor is known, or two where some of its kind have half
/// of the ports; all that any processor has otherwise; none for mixtures and for what a compiler made.
/// Sources: Intel optimization reference manual; AMD software optimization guides for families 17h, 19h, 1Ah; uops.info.
[[nodiscard]] std::vector<double> port_rates(const CpuFeatures& features, const PeakKernel& kernel);

struct PortVerdict {
    bool known = false;       ///< the figure is a possible rate, or none is known that it should be
    double rate = 0;          ///< the smallest rate that is possible, operations a cycle; 0: none is known
    double share = 0;         ///< of that rate
    double instructions = 0;  ///< that rate in instructions a cycle
    bool sure = false;        ///< no other rate is possible
};

/// Whether so many operations a cycle are what the ports can do: at most 5 % below one of the rates and 3 % above. `rates` ascend; those that were
/// exceeded by more are not possible.
[[nodiscard]] PortVerdict judge_port_rate(const PeakKernel& kernel, const std::vector<double>& rates,
                                          double ops_per_cycle);

}  // namespace roofline::core
