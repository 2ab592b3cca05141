// Timing honestly: samples of a few milliseconds, a warm-up by the clock, and for each sample whether something disturbed it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace roofline::core {

/// One timed stretch of calls.
struct Sample {
    double seconds = 0;  ///< of one call
    double cpu_share =
        1;  ///< processor time of the process over wall time times threads; less when others took the cores
    std::int64_t preempted = 0;  ///< involuntary context switches during it
    double stolen_s = 0;         ///< time that a hypervisor gave to others meanwhile, of the processors that worked
    double hertz = 0;            ///< the clock probed beside it; 0: not probed
};

struct SamplingOptions {
    std::size_t samples = 15;
    double sample_s = 0.004;         ///< wall time of one sample; calls are counted so that it takes about that long
    double warm_up_s = 0.02;         ///< before the first sample
    double longest_s = 10;           ///< all of it; fewer samples are taken where calls are long, at least three
    int threads = 1;                 ///< that the calls keep busy
    double least_cpu_share = 0.985;  ///< a sample below it was disturbed, and so is one of which time was stolen
    /// Several ranks take the samples: what only one of them sees, its clock or an interrupt, does not decide how many.
    bool together = false;
};

/// What samples say: those that nothing disturbed, or all when too few are left, and then that is said.
struct Spread {
    double median = 0;  ///< seconds a call
    double p5 = 0;
    double p95 = 0;
    double best = 0;
    std::size_t kept = 0;
    std::size_t tried = 0;
    bool disturbed = false;  ///< fewer than half were clean: the figures are of all samples, and not to be trusted
};

struct Sampled {
    std::vector<Sample> samples;
    std::int64_t calls = 1;  ///< a sample
    Spread spread;
};

/// Linear interpolation between order statistics; `sorted` is not empty, `share` 0 to 1.
[[nodiscard]] double quantile(const std::vector<double>& sorted, double share);

/// Whether nothing is known to have disturbed it.
[[nodiscard]] bool clean(const Sample& sample, double least_cpu_share);

/// The spread of samples, at least one.
[[nodiscard]] Spread spread_of(const std::vector<Sample>& samples, double least_cpu_share);

/// Times work(calls), which makes `calls` calls. Errors: interrupted; whatever `work` fails with.
[[nodiscard]] Result<Sampled> take_samples(const std::function<Status(std::int64_t calls)>& work,
                                           const SamplingOptions& options);

/// The same for several kinds of work in turn, so that what disturbs the machine for a while falls on all of them alike.
[[nodiscard]] Result<std::vector<Sampled>> take_samples(
    const std::vector<std::function<Status(std::int64_t calls)>>& works, const SamplingOptions& options);

/// Calls that are timed by who makes them: `calls` of them, as one sample.
using TimedCalls = std::function<Result<Sample>(std::int64_t calls)>;

/// The same for calls that time themselves, which is nearer where threads have to be woken first.
[[nodiscard]] Result<std::vector<Sampled>> take_timed_samples(const std::vector<TimedCalls>& works,
                                                              const SamplingOptions& options);

/// Seconds that a hypervisor has taken from these processors since the start, of all when `cpus` is empty; 0 where that is not told.
[[nodiscard]] double stolen_seconds(const std::vector<int>& cpus);

/// The same from the text of /proc/stat, at so many ticks a second.
[[nodiscard]] double stolen_seconds(std::string_view stat, const std::vector<int>& cpus, double ticks_per_second);

/// Waits until others leave the processors alone, at most `longest_s`. Returns the share of all processors that they used last:
/// above 0.05 what is measured now will be disturbed.
[[nodiscard]] double wait_until_idle(double longest_s);

/// "median 1.2 ms, 15 of 16 samples, p5 to p95 1.1 to 1.3 ms"; with a warning where the samples were disturbed.
[[nodiscard]] std::string spread_text(const Spread& spread);

}  // namespace roofline::core
