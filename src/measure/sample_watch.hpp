// Measures a series of calls: how long it took, and what may have disturbed it.
#pragma once

#include <cstdint>

#include "measure/sampling.hpp"

namespace roofline::core {

/// Seconds of a monotonic clock.
[[nodiscard]] double now_s();

/// Processor time in seconds of all threads of this process. The process clock lags by up to a tick for running
/// threads, which is most of a short sample; the clock of each thread does not.
[[nodiscard]] double threads_cpu_s();

/// A stopwatch that starts when it is constructed.
class SampleWatch {
public:
    SampleWatch();
    /// The sample so far, for `calls` calls that keep `threads` threads busy.
    [[nodiscard]] Sample read(std::int64_t calls, int threads) const;

private:
    std::int64_t preempted_;
    double stolen_s_;
    double cpu_s_;
    double start_s_;
};

}  // namespace roofline::core
