// What a fit of servers found, for people and programs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/server/server_law.hpp"
#include "report/format.hpp"

namespace roofline::core {

struct ServerFitReport {
    ServerLaws laws;
    std::vector<std::pair<std::string, std::int64_t>> skipped;  ///< rows that say too little, by reason
    std::string file;                                           ///< that is written; "" for none
};

[[nodiscard]] std::string server_fit_report(const ServerFitReport& report, Format format);

}  // namespace roofline::core
