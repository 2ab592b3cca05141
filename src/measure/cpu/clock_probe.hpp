// Measures the clock of the current core with a chain of dependent additions, one per cycle.
#pragma once

#include <cstdint>

namespace roofline::core {

struct ClockProbe {
    double hertz = 0;
    std::uint64_t sum = 0;  ///< result of the chain: 16 times its passes
};

/// Takes about 16 cycles per pass. If the thread is preempted, the result is too low.
[[nodiscard]] ClockProbe probe_clock(std::int64_t passes);

}  // namespace roofline::core
