// The clock of the core that runs this, from a chain of additions of which each waits for the one before: one a cycle.
#pragma once

#include <cstdint>

namespace roofline::core {

struct ClockProbe {
    double hertz = 0;
    std::uint64_t sum = 0;  ///< what the chain added up: 16 times its passes
};

/// Takes about 16 cycles a pass. A core that was taken away meanwhile reads too low.
[[nodiscard]] ClockProbe probe_clock(std::int64_t passes);

}  // namespace roofline::core
