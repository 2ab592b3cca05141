#include "measure/cpu/measure_cpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "measure/cpu/measure_parts.hpp"
#include "measure/stop.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr double busy_share = 0.05;
constexpr double many_rejected = 0.25;

/// Uses fewer threads than cores if control groups grant less processor time.
void apply_limits(CpuMeasurement& measurement) {
    CpuTopology& topology = measurement.topology;
    measurement.threads = std::max(1, static_cast<int>(topology.cpus.size()));
    const double limit = cgroup_cpu_limit("/sys/fs/cgroup", own_cgroup());
    if (limit <= 0 || limit >= measurement.threads) return;
    measurement.threads = std::max(1, static_cast<int>(limit));
    measurement.notes.push_back(
        fmt::format("a control group limits processor time to {} processors: {} of {} cores are used",
                    number_text(limit), measurement.threads, topology.cpus.size()));
    if (limit < 1) {
        measurement.warnings.emplace_back(
            "a control group grants less than the time of one processor, which interrupts samples");
    }
    topology.cpus.resize(static_cast<std::size_t>(measurement.threads));
    for (CpuCache& cache : topology.caches) {
        const std::int64_t threads = measurement.threads;
        cache.cores = std::min(cache.cores, threads);
        cache.instances = std::min(cache.instances, std::max(threads / cache.cores, std::int64_t{1}));
    }
}

void note_pages(CpuMeasurement& measurement) {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string line;
    std::getline(file, line);
    if (line.empty() || line.find("[never]") != std::string::npos) {
        measurement.notes.emplace_back(
            "the kernel provides no huge pages: all figures are for pages of the default size");
    }
}

void warn(CpuMeasurement& measurement, const WorkerTeam& team) {
    if (measurement.others > busy_share) {
        measurement.warnings.push_back(
            fmt::format("other processes used {} % of the processors before the start: figures may be too low",
                        percent_text(measurement.others)));
    }
    const double rejected = static_cast<double>(measurement.samples_rejected) /
                            std::max(static_cast<double>(measurement.samples_tried), 1.0);
    if (rejected > many_rejected) {
        measurement.warnings.push_back(
            fmt::format("{} % of the samples were disturbed by other processes and discarded: measure again when the "
                        "machine is idle",
                        percent_text(rejected)));
    }
    if (team.unpinned() > 0) {
        measurement.warnings.push_back(
            fmt::format("{} threads could not be pinned to a processor: figures vary more", team.unpinned()));
    }
    for (const PeakResult& peak : measurement.peaks) {
        if (peak.refusal.empty()) continue;
        measurement.warnings.push_back(
            fmt::format("{} on {} thread{}: {} operations per cycle, {} % of {}; not used: {}", peak.kernel.id,
                        peak.threads, peak.threads == 1 ? "" : "s", number_text(peak.ops_per_cycle),
                        percent_text(peak.port.share), number_text(peak.port.rate), peak.refusal));
    }
}

}  // namespace

Result<CpuMeasurement> measure_cpu(const CpuMeasureOptions& options, Progress& progress) {
    CpuMeasurement measurement;
    progress.at("identifying the processor", 0);
    measurement.features = cpu_features();
    measurement.topology = cpu_topology();
    apply_limits(measurement);
    note_pages(measurement);
    WorkerTeam team;
    ROOFLINE_CHECK(team.start(measurement.topology.cpus));
    progress.at("waiting for the machine to become idle", 0);
    measurement.others = wait_until_idle(options.idle_wait_s);
    SampleMeter meter(progress, expected_samples(measurement, options));
    ROOFLINE_CHECK(measure_peaks(team, options, meter, measurement));
    ROOFLINE_CHECK(measure_latencies(team, options, meter, measurement));
    verify_caches(measurement);
    ROOFLINE_CHECK(measure_bandwidths(team, options, meter, measurement));
    warn(measurement, team);
    return measurement;
}

}  // namespace roofline::core
