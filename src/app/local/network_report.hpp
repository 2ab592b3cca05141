// The report of `roofline measure network`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/local/network_tier.hpp"
#include "report/format.hpp"

namespace roofline::core {

struct NetworkReport {
    NetworkTiming timing;
    MeasuredNetwork network;
    std::string system;              ///< name of the machine in the table
    std::vector<std::string> notes;  ///< remarks for the user
    std::vector<std::string> files;  ///< names of the files that are written
};

/// Formats the report. Text and Markdown have one line per operation and number of ranks; CSV is the table of
/// measurements; docs/reference/json.md describes the JSON.
[[nodiscard]] std::string network_report(const NetworkReport& report, Format format);

}  // namespace roofline::core
