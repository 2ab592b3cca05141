#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/cpu/measure_parts.hpp"
#include "measure/stop.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t smallest_set = 4096;
constexpr std::size_t set_without_topology = std::size_t{128} << 20;
constexpr std::int64_t steps_per_call = 512;
constexpr std::size_t latency_samples = 7;

std::string size_text(std::size_t bytes) { return capacity_text(Bytes{static_cast<double>(bytes)}); }

/// About `points` sizes in geometric progression, in whole pages, plus half of each cache.
std::vector<std::size_t> sizes_to_try(const CpuTopology& topology, std::size_t largest, int points) {
    std::vector<std::size_t> sizes;
    const double ratio = static_cast<double>(largest) / static_cast<double>(smallest_set);
    for (int i = 0; i < points; ++i) {
        const double size = static_cast<double>(smallest_set) * std::pow(ratio, i / std::max(points - 1.0, 1.0));
        sizes.push_back(static_cast<std::size_t>(size) / smallest_set * smallest_set);
    }
    for (const CpuCache& cache : topology.caches) sizes.push_back(static_cast<std::size_t>(cache.bytes) / 2);
    sizes.push_back(largest);
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    std::erase_if(sizes, [](std::size_t size) { return size < smallest_set; });
    return sizes;
}

void caches_from_plateaus(CpuMeasurement& measurement) {
    if (!measurement.topology.caches.empty() || measurement.plateaus.size() < 2) return;
    // the last plateau is memory
    for (std::size_t i = 0; i + 1 < measurement.plateaus.size() && i < 3; ++i) {
        const bool last = i + 2 == measurement.plateaus.size() && i > 0;
        const std::int64_t cores = last ? measurement.threads : 1;
        measurement.topology.caches.push_back({static_cast<int>(i) + 1,
                                               static_cast<std::int64_t>(measurement.plateaus[i].last_bytes),
                                               last ? 1 : measurement.threads, cores});
    }
    measurement.topology.source = "plateaus of the latency";
}

}  // namespace

std::size_t memory_working_set(const CpuTopology& topology, std::int64_t usable) {
    constexpr std::int64_t least = std::int64_t{64} << 20;
    std::int64_t cached = 0;
    if (!topology.caches.empty()) cached = topology.caches.back().bytes * topology.caches.back().instances;
    std::int64_t wanted =
        topology.caches.empty() ? static_cast<std::int64_t>(set_without_topology) : std::max(least, 4 * cached);
    if (usable > 0) wanted = std::min(wanted, usable / 8);
    return static_cast<std::size_t>(std::max(wanted, std::int64_t{1} << 20)) / bandwidth_block * bandwidth_block;
}

Status measure_latencies(WorkerTeam& team, const CpuMeasureOptions& options, SampleMeter& meter,
                         CpuMeasurement& measurement) {
    const std::size_t largest = memory_working_set(measurement.topology, usable_memory());
    ROOFLINE_TRY(auto buffer, PagedBuffer::make(largest, Pages::huge));
    SamplingOptions sampling;
    sampling.samples = latency_samples;
    sampling.sample_s = options.sample_s / 2;
    sampling.warm_up_s = options.sample_s;
    for (const std::size_t size : sizes_to_try(measurement.topology, largest, options.latency_points)) {
        if (stop_requested()) return fail(interrupted());
        team.run(1, [&](int) { make_pointer_ring(buffer.data(), size); });
        const char* at = buffer.data();
        const TimedCalls timed = team_calls(
            team, 1, false, [&](int, std::int64_t calls) { at = follow_pointers(at, calls * steps_per_call); });
        const TimedCalls told = [&](std::int64_t calls) {
            meter.next("latency of " + size_text(size));
            return timed(calls);
        };
        ROOFLINE_TRY(auto sampled, take_timed_samples({told}, sampling));
        const Spread& spread = sampled.front().spread;
        measurement.latencies.push_back({size, spread.median / static_cast<double>(steps_per_call)});
        measurement.samples_tried += spread.tried;
        measurement.samples_rejected += spread.tried - spread.kept;
    }
    measurement.plateaus = find_plateaus(measurement.latencies);
    caches_from_plateaus(measurement);
    return {};
}

void verify_caches(CpuMeasurement& measurement) {
    if (measurement.topology.source == "plateaus of the latency") return;
    for (const CpuCache& cache : measurement.topology.caches) {
        const double inside = latency_of(measurement, cache.level);
        double outside = 0;
        for (const LatencyPoint& point : measurement.latencies) {
            if (static_cast<double>(point.bytes) >= 2.0 * static_cast<double>(cache.bytes) && outside == 0) {
                outside = point.seconds;
            }
        }
        if (inside <= 0 || outside <= 0) continue;
        const std::string told =
            fmt::format("L{} of {} ({})", cache.level, size_text(static_cast<std::size_t>(cache.bytes)),
                        measurement.topology.source);
        if (outside < 1.3 * inside) {
            measurement.notes.push_back(
                fmt::format("{} is not visible in the latencies: a load takes {} inside it and {} beyond it", told,
                            to_text(Seconds{inside}), to_text(Seconds{outside})));
        }
    }
}

}  // namespace roofline::core
