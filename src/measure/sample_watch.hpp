// The clocks beside a timed stretch of calls: how long it took, and what may have disturbed it.
#pragma once

#include <cstdint>

#include "measure/sampling.hpp"

namespace roofline::core {

/// Seconds of the clock that never jumps.
[[nodiscard]] double now_s();

/// Processor time of all threads of this process, seconds. The process's own clock lags behind by up to a tick for threads that
/// are running, which is most of a short sample; each thread's clock does not.
[[nodiscard]] double threads_cpu_s();

/// Starts when it is made.
class SampleWatch {
public:
    SampleWatch();
    /// What it has seen of `calls` calls that keep so many threads busy.
    [[nodiscard]] Sample read(std::int64_t calls, int threads) const;

private:
    std::int64_t preempted_;
    double stolen_s_;
    double cpu_s_;
    double start_s_;
};

}  // namespace roofline::core
