// What `roofline measure network` says.
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
    std::string system;              ///< as the table calls the machine
    std::vector<std::string> notes;  ///< what a reader should know
    std::vector<std::string> files;  ///< that are written
};

/// Text and Markdown: a line an operation and number of ranks; CSV: the table of measurements; JSON:
/// docs/reference/json.md.
[[nodiscard]] std::string network_report(const NetworkReport& report, Format format);

}  // namespace roofline::core
