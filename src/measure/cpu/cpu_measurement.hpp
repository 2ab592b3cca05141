// The raw results of measuring a processor, from which machine files and reports are made.
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

/// Increased when the method changes, so that files of different versions are not compared with one another.
inline constexpr int cpu_method_version = 2;

/// A rate and its spread over samples.
struct MeasuredRate {
    double median = 0;  ///< per second
    double p5 = 0;
    double p95 = 0;
    std::size_t kept = 0;
    std::size_t tried = 0;
    bool disturbed = false;
};

/// Rate for a spread of seconds per call, with `per_call` units of work per call: the slowest sample is the lowest
/// rate.
[[nodiscard]] MeasuredRate rate_of(const Spread& spread, double per_call);

struct PeakResult {
    PeakKernel kernel;
    int threads = 1;
    MeasuredRate rate;         ///< operations per second of all threads
    double hertz = 0;          ///< clock measured at the same time, 10th percentile
    double clock_spread = 0;   ///< 95th over 5th percentile of that clock, minus 1
    double ops_per_cycle = 0;  ///< per thread: 95th percentile of the undisturbed samples, as for rates
    PortVerdict port;
    std::string refusal;  ///< why the figure must not be used; "" if it may
};

struct BandwidthResult {
    int level = 1;  ///< cache level; 0: main memory
    BandwidthKernel kernel;
    int threads = 1;
    std::size_t working_set = 0;  ///< bytes per thread, all arrays
    Pages pages = Pages::huge;
    CorePlacement placement = CorePlacement::single;
    MeasuredRate rate;  ///< bytes per second that the program itself loads and stores, all threads
};

struct CpuMeasurement {
    CpuFeatures features;
    CpuTopology topology;
    int threads = 1;    ///< largest number of threads used
    double hertz = 0;   ///< median clock while the cores were busy
    double others = 0;  ///< fraction of the processors that other processes used before the start
    std::vector<PeakResult> peaks;
    std::vector<BandwidthResult> bandwidths;
    std::vector<LatencyPoint> latencies;
    std::vector<Plateau> plateaus;
    std::vector<double> core_to_core;       ///< seconds one way, of the last probe
    std::vector<CorePlacement> placements;  ///< one per probe
    std::vector<std::string> warnings;      ///< reasons to doubt figures
    std::vector<std::string> notes;         ///< deviations from the usual method
    std::size_t samples_tried = 0;
    std::size_t samples_rejected = 0;
};

/// What to measure and for how long.
struct CpuMeasureOptions {
    std::size_t samples = 40;
    double sample_s = 0.004;
    double memory_s = 20;           ///< for main memory, whose passes are long; after that no further round begins
    double idle_wait_s = 5;         ///< longest wait for other processes to finish
    bool small_pages = true;        ///< also measure main memory with pages of 4 KiB
    bool all_thread_counts = true;  ///< also powers of two between one and all threads, for main memory
    int latency_points = 24;        ///< number of working sets whose latency is measured
};

/// Highest 95th percentile of a level with this many threads, which real programs do not exceed. Null if nothing was
/// measured.
[[nodiscard]] const BandwidthResult* envelope(const CpuMeasurement& measurement, int level, int threads,
                                              CorePlacement placement);
/// Placement of the cores when the highest bandwidth of main memory was measured.
[[nodiscard]] CorePlacement best_placement(const CpuMeasurement& measurement);
/// The best peak that applies to this unit and dtype with this many threads; null if there is none.
[[nodiscard]] const PeakResult* best_peak(const CpuMeasurement& measurement, Unit unit, Dtype dtype, int threads);

/// Latency in seconds; 0: unknown. For a cache level it is the lowest over working sets that fit twice in it but not in
/// the previous level; for main memory (0) it is that of the largest working set.
[[nodiscard]] double latency_of(const CpuMeasurement& measurement, int level);

}  // namespace roofline::core
