// What measuring a processor found, before anybody makes a machine file or a report of it.
#pragma once

#include <string>
#include <vector>

#include "measure/cpu/bandwidth_kernels.hpp"
#include "measure/cpu/core_placement.hpp"
#include "measure/cpu/features.hpp"
#include "measure/cpu/latency.hpp"
#include "measure/cpu/paged_buffer.hpp"
#include "measure/cpu/peak_kernels.hpp"
#include "measure/cpu/port_rates.hpp"
#include "measure/cpu/topology.hpp"
#include "measure/sampling.hpp"

namespace roofline::core {

/// Raised when the way of measuring changes, so that files of two versions are not compared as if they were of one.
inline constexpr int cpu_method_version = 1;

/// A rate as samples showed it.
struct MeasuredRate {
    double median = 0;  ///< a second
    double p5 = 0;
    double p95 = 0;
    std::size_t kept = 0;
    std::size_t tried = 0;
    bool disturbed = false;
};

/// `per_call` of a spread of seconds a call: the slowest sample is the lowest rate.
[[nodiscard]] MeasuredRate rate_of(const Spread& spread, double per_call);

struct PeakResult {
    PeakKernel kernel;
    int threads = 1;
    MeasuredRate rate;         ///< operations a second of all threads
    double hertz = 0;          ///< of the clock beside it, the 10th percentile
    double clock_spread = 0;   ///< 95th over 5th percentile of that clock, less 1
    double ops_per_cycle = 0;  ///< of one thread: the 95th percentile of the clean samples', as of the rates
    PortVerdict port;
    std::string refusal;  ///< why the figure is not to be used; "" when it is
};

struct BandwidthResult {
    int level = 1;  ///< of cache; 0: main memory
    BandwidthKernel kernel;
    int threads = 1;
    std::size_t working_set = 0;  ///< bytes of one thread, all arrays
    Pages pages = Pages::huge;
    CorePlacement placement = CorePlacement::single;
    MeasuredRate rate;  ///< bytes a second that the program itself loads and stores, of all threads
};

struct CpuMeasurement {
    CpuFeatures features;
    CpuTopology topology;
    int threads = 1;    ///< that were used at most
    double hertz = 0;   ///< median clock while the cores worked
    double others = 0;  ///< share of the processors that others used before the start
    std::vector<PeakResult> peaks;
    std::vector<BandwidthResult> bandwidths;
    std::vector<LatencyPoint> latencies;
    std::vector<Plateau> plateaus;
    std::vector<double> core_to_core;       ///< seconds one way, of the last probe
    std::vector<CorePlacement> placements;  ///< of every probe
    std::vector<std::string> warnings;      ///< what makes figures doubtful
    std::vector<std::string> notes;         ///< what was done otherwise than usual
    std::size_t samples_tried = 0;
    std::size_t samples_rejected = 0;
};

/// How much is measured.
struct CpuMeasureOptions {
    std::size_t samples = 40;
    double sample_s = 0.004;
    double memory_s = 20;           ///< for main memory, whose passes are long: then no further round is begun
    double idle_wait_s = 5;         ///< how long to wait for others to finish
    bool small_pages = true;        ///< main memory also with pages of 4 KiB
    bool all_thread_counts = true;  ///< powers of two between one and all threads, for main memory
    int latency_points = 24;        ///< working sets whose latency is taken
};

/// The highest 95th percentile of a level with this many threads: what nothing honest exceeds. Null when nothing was measured.
[[nodiscard]] const BandwidthResult* envelope(const CpuMeasurement& measurement, int level, int threads,
                                              CorePlacement placement);
/// How the cores lay when the highest roof of main memory was seen.
[[nodiscard]] CorePlacement best_placement(const CpuMeasurement& measurement);
/// The best of the figures that count for this unit and dtype, with this many threads; null when there is none.
[[nodiscard]] const PeakResult* best_peak(const CpuMeasurement& measurement, Unit unit, Dtype dtype, int threads);

/// Latency of a cache level, the least of working sets that fit it twice and do not fit the level before, or of main memory (0), that of
/// the largest. Seconds; 0: not known.
[[nodiscard]] double latency_of(const CpuMeasurement& measurement, int level);

}  // namespace roofline::core
