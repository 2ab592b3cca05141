// Sampling of run times: samples of a few milliseconds, a warm-up, and detection of disturbances in each sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace roofline::core {

/// One timed series of calls.
struct Sample {
    double seconds = 0;  ///< per call
    /// Processor time of the process over wall time times threads; lower if other processes took the cores
    double cpu_share = 1;
    std::int64_t preempted = 0;  ///< involuntary context switches during the sample
    double stolen_s = 0;         ///< time that a hypervisor gave to others, on the processors that worked
    double hertz = 0;            ///< the clock probed at the same time; 0: not probed
};

struct SamplingOptions {
    std::size_t samples = 15;
    double sample_s = 0.004;         ///< wall time of one sample; the number of calls is chosen to take about that long
    double warm_up_s = 0.02;         ///< before the first sample
    double max_duration_s = 10;      ///< total time; fewer samples are taken if calls are long, but at least three
    int threads = 1;                 ///< threads that the calls keep busy
    double least_cpu_share = 0.985;  ///< a sample below it, or one with stolen time, counts as disturbed
    /// Several ranks sample together: neither the clock nor an interrupt of one rank alone decides how many samples are
    /// taken.
    bool together = false;
};

/// Statistics of the undisturbed samples, or of all samples if too few are undisturbed; `disturbed` tells which.
struct Spread {
    double median = 0;  ///< seconds per call
    double p5 = 0;
    double p95 = 0;
    double best = 0;
    std::size_t kept = 0;
    std::size_t tried = 0;
    /// Fewer than half of the samples were clean: the statistics cover all samples and are not reliable.
    bool disturbed = false;
};

struct Sampled {
    std::vector<Sample> samples;
    std::int64_t calls = 1;  ///< per sample
    Spread spread;
};

/// Linear interpolation between order statistics; `sorted` must not be empty, `share` is 0 to 1.
[[nodiscard]] double quantile(const std::vector<double>& sorted, double share);

/// Returns whether no disturbance of the sample is known.
[[nodiscard]] bool clean(const Sample& sample, double least_cpu_share);

/// Spread of at least one sample.
[[nodiscard]] Spread spread_of(const std::vector<Sample>& samples, double least_cpu_share);

/// Times work(calls), which makes `calls` calls. Errors: interrupted; those of `work`.
[[nodiscard]] Result<Sampled> take_samples(const std::function<Status(std::int64_t calls)>& work,
                                           const SamplingOptions& options);

/// Times several kinds of work alternately, so that a temporary disturbance affects all of them alike.
[[nodiscard]] Result<std::vector<Sampled>> take_samples(
    const std::vector<std::function<Status(std::int64_t calls)>>& works, const SamplingOptions& options);

/// Work that times itself: makes `calls` calls as one sample.
using TimedCalls = std::function<Result<Sample>(std::int64_t calls)>;

/// take_samples() for calls that time themselves, which is more accurate if threads must be woken first.
[[nodiscard]] Result<std::vector<Sampled>> take_timed_samples(const std::vector<TimedCalls>& works,
                                                              const SamplingOptions& options);

/// Seconds that a hypervisor has taken from these processors since boot, from all if `cpus` is empty; 0 if it is not
/// reported.
[[nodiscard]] double stolen_seconds(const std::vector<int>& cpus);

/// The same from the text of /proc/stat, with its number of ticks per second.
[[nodiscard]] double stolen_seconds(std::string_view stat, const std::vector<int>& cpus, double ticks_per_second);

/// Waits until other processes leave the processors idle, at most `max_duration_s`. Returns the fraction of all
/// processors that they last used: above 0.05, measurements will be disturbed.
[[nodiscard]] double wait_until_idle(double max_duration_s);

/// Describes a spread: "median 1.2 ms, 15 of 16 samples, p5 to p95 1.1 to 1.3 ms"; with a warning if it is disturbed.
[[nodiscard]] std::string spread_text(const Spread& spread);

}  // namespace roofline::core
