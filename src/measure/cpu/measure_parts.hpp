// The parts of a processor measurement, in the order in which they run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/cpu/cpu_measurement.hpp"
#include "measure/cpu/worker_team.hpp"
#include "measure/progress.hpp"

namespace roofline::core {

/// Reports the progress of all parts together, in samples.
class SampleMeter {
public:
    SampleMeter(Progress& progress, double expected) : progress_(&progress), expected_(expected) {}
    void next(std::string_view what) {
        done_ += 1;
        progress_->at(what, expected_ > 0 ? done_ / expected_ : 0);
    }

private:
    Progress* progress_;
    double expected_;
    double done_ = 0;
};

/// Makes calls on the first `threads` workers, timed from the first start to the last end. `call(worker)` makes one
/// call.
[[nodiscard]] TimedCalls team_calls(WorkerTeam& team, int threads, bool clock,
                                    std::function<void(int worker, std::int64_t calls)> calls);

/// Seconds after which `works` kinds of work take no further samples: three times their undisturbed duration.
[[nodiscard]] double sampling_limit_s(std::size_t works, const SamplingOptions& sampling);

/// One thread and all threads; with `powers_between` also the powers of two between them.
[[nodiscard]] std::vector<int> thread_counts(int threads, bool powers_between);

/// Measures the peaks of all relevant kernels. Errors: interrupted; code `check_failed` if a kernel computes a wrong
/// result.
[[nodiscard]] Status measure_peaks(WorkerTeam& team, const CpuMeasureOptions& options, SampleMeter& meter,
                                   CpuMeasurement& measurement);
/// Why a figure is not what the ports can do; "" if it is, or if the ports are unknown.
[[nodiscard]] std::string refusal_of(const PeakResult& peak);
/// Repeats the judgement: a rate reached in one dtype or with one thread count shows what the ports can do in the
/// others.
void reconcile_ports(std::vector<PeakResult>& peaks);

/// Measures latencies by working set and their plateaus; if the topology has no caches, their sizes are derived from
/// these.
[[nodiscard]] Status measure_latencies(WorkerTeam& team, const CpuMeasureOptions& options, SampleMeter& meter,
                                       CpuMeasurement& measurement);
/// Compares the topology with the sizes at which latency rises; differences become notes.
void verify_caches(CpuMeasurement& measurement);

/// Returns the working sets per thread for the bandwidth of a cache, in bytes, ascending: three quarters, a half and
/// three eighths of a thread's share, and a quarter of the last again and again down to twice the inner level
/// (`inner_bytes`; 0: none). A virtual machine or busy neighbours may leave a processor less of a shared cache than the
/// topology says, and then only the small sets show what the cache itself can do. Empty if no set lies outside the
/// inner level.
[[nodiscard]] std::vector<std::size_t> cache_working_sets(const CpuCache& cache, std::int64_t inner_bytes);
[[nodiscard]] Status measure_bandwidths(WorkerTeam& team, const CpuMeasureOptions& options, SampleMeter& meter,
                                        CpuMeasurement& measurement);

/// A working set far larger than all caches, but at most an eighth of the memory. Bytes.
[[nodiscard]] std::size_t memory_working_set(const CpuTopology& topology, std::int64_t usable);

/// Approximate number of samples of all parts together.
[[nodiscard]] double expected_samples(const CpuMeasurement& measurement, const CpuMeasureOptions& options);
[[nodiscard]] std::vector<PeakKernel> kernels_to_measure(const CpuFeatures& features);

}  // namespace roofline::core
