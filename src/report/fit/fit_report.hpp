// What a fit found, for people and programs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/collective/fit_collectives.hpp"
#include "calibrate/exchange/fit_exchanges.hpp"
#include "calibrate/kernel/fit_kernel_laws.hpp"
#include "report/format.hpp"

namespace roofline::core {

struct FitReport {
    CollectiveFit fit;                                          ///< its calibrations have all laws
    ExchangeFit exchanges;                                      ///< the counts; its calibrations are in `fit`
    KernelLawsFit kernels;                                      ///< the counts; its calibrations are in `fit`
    std::vector<std::pair<std::string, std::int64_t>> skipped;  ///< rows that lack something, by reason
    std::vector<std::string> files;                             ///< that are written
};

[[nodiscard]] std::string fit_report(const FitReport& report, Format format);

}  // namespace roofline::core
