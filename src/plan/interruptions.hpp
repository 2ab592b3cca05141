// Published rates of interruptions of training, and how long a restart takes: data/interruptions.toml.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// Seconds of 1,000 chip-days, the unit in which rates are given and printed.
inline constexpr double thousand_chip_days = 1000 * 86400.0;

/// The interruptions of a run or a cluster.
struct PublishedInterruptions {
    std::string system;
    std::vector<std::string> machines;  ///< ids
    double rate = 0;                    ///< per chip and second
    std::string source;
};

struct InterruptionRecords {
    std::vector<PublishedInterruptions> systems;
    double restart_s = 0;
    std::string restart_source;

    /// Returns the default of a machine, the first system with its id; null if none is published.
    [[nodiscard]] const PublishedInterruptions* find(std::string_view machine) const;
};

/// Reads data/interruptions.toml or a file of the same format strictly. Errors carry the line and the column.
[[nodiscard]] Result<InterruptionRecords> parse_interruptions(const TomlInput& toml, std::string_view origin);

/// Returns the records of data/interruptions.toml.
[[nodiscard]] const InterruptionRecords& published_interruptions();

}  // namespace roofline::core
