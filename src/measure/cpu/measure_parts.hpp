// The parts of measuring a processor, in the order in which they are done.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/cpu/cpu_measurement.hpp"
#include "measure/cpu/worker_team.hpp"
#include "measure/progress.hpp"

namespace roofline::core {

/// Tells how far all parts together are, by samples.
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

/// Makes calls on the first `threads` workers, timed from the first start to the last end. `call(worker)` makes one.
[[nodiscard]] TimedCalls team_calls(WorkerTeam& team, int threads, bool clock,
                                    std::function<void(int worker, std::int64_t calls)> calls);

/// Seconds after which so many kinds of work take no further samples: three times what they take undisturbed.
[[nodiscard]] double patience(std::size_t works, const SamplingOptions& sampling);

/// One thread, and all.
[[nodiscard]] std::vector<int> thread_counts(int threads, bool powers_between);

/// Peaks of all kernels that are worth it. Errors: interrupted; code `check_failed` when a kernel computes something wrong.
[[nodiscard]] Status measure_peaks(WorkerTeam& team, const CpuMeasureOptions& options, SampleMeter& meter,
                                   CpuMeasurement& measurement);
/// Why a figure is not what the ports can do; "" when it is, or when nothing says what they can.
[[nodiscard]] std::string refusal_of(const PeakResult& peak);
/// Judges again, where what one dtype or number of threads has shown tells what the ports of another must do.
void agree_on_ports(std::vector<PeakResult>& peaks);

/// Latencies by working set and their plateaus; where the topology tells no caches, their sizes follow from these.
[[nodiscard]] Status measure_latencies(WorkerTeam& team, const CpuMeasureOptions& options, SampleMeter& meter,
                                       CpuMeasurement& measurement);
/// Compares what the topology says with where latency rises; what differs becomes a note.
void verify_caches(CpuMeasurement& measurement);

[[nodiscard]] Status measure_bandwidths(WorkerTeam& team, const CpuMeasureOptions& options, SampleMeter& meter,
                                        CpuMeasurement& measurement);

/// Bytes that lie far outside of all caches, and within an eighth of the memory.
[[nodiscard]] std::size_t memory_working_set(const CpuTopology& topology, std::int64_t usable);

/// Samples that all parts take together, about.
[[nodiscard]] double expected_samples(const CpuMeasurement& measurement, const CpuMeasureOptions& options);
[[nodiscard]] std::vector<PeakKernel> kernels_to_measure(const CpuFeatures& features);

}  // namespace roofline::core
