// What a fit found, for people and programs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/fit_collectives.hpp"
#include "report/format.hpp"

namespace roofline {

struct FitReport {
    CollectiveFit fit;
    std::vector<std::pair<std::string, std::int64_t>> skipped;  ///< rows that lack something, by reason
    std::vector<std::string> files;                             ///< that are written
};

[[nodiscard]] std::string fit_report(const FitReport& report, Format format);

}  // namespace roofline
