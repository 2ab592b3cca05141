#include "measure/cpu/cpu_measurement.hpp"

namespace roofline::core {

MeasuredRate rate_of(const Spread& spread, double per_call) {
    const auto rate = [&](double seconds) { return seconds > 0 ? per_call / seconds : 0; };
    return {rate(spread.median), rate(spread.p95), rate(spread.p5), spread.kept, spread.tried, spread.disturbed};
}

const BandwidthResult* envelope(const CpuMeasurement& measurement, int level, int threads, CorePlacement placement) {
    const BandwidthResult* best = nullptr;
    for (const BandwidthResult& each : measurement.bandwidths) {
        // placement of cores does not affect caches that are private to a core
        const bool placed = level != 0 || each.placement == placement;
        if (each.level != level || each.threads != threads || !placed) continue;
        if (best == nullptr || each.rate.p95 > best->rate.p95) best = &each;
    }
    return best;
}

CorePlacement best_placement(const CpuMeasurement& measurement) {
    const BandwidthResult* best = nullptr;
    for (const BandwidthResult& each : measurement.bandwidths) {
        if (each.level != 0 || each.threads != measurement.threads) continue;
        if (best == nullptr || each.rate.p95 > best->rate.p95) best = &each;
    }
    return best == nullptr ? CorePlacement::single : best->placement;
}

const PeakResult* best_peak(const CpuMeasurement& measurement, Unit unit, Dtype dtype, int threads) {
    const PeakResult* best = nullptr;
    for (const PeakResult& each : measurement.peaks) {
        // a plain FMA that gives a matmul peak also counts for elementwise work
        const bool fits = each.kernel.unit == unit || (unit == Unit::vector && each.kernel.title != "dot product" &&
                                                       (dtype == Dtype::f32 || dtype == Dtype::f64));
        if (!fits || each.kernel.dtype != dtype || each.threads != threads || !each.refusal.empty()) continue;
        if (best == nullptr || each.rate.p95 > best->rate.p95) best = &each;
    }
    return best;
}

double latency_of(const CpuMeasurement& measurement, int level) {
    if (measurement.latencies.empty()) return 0;
    double inner = 0;
    double least = 0;
    for (const CpuCache& cache : measurement.topology.caches) {
        const auto capacity = static_cast<double>(cache.bytes);
        if (cache.level == level) {
            for (const LatencyPoint& point : measurement.latencies) {
                const auto size = static_cast<double>(point.bytes);
                const bool inside = size > 1.5 * inner && size <= 0.55 * capacity;
                if (inside && (least == 0 || point.seconds < least)) least = point.seconds;
            }
            return least;
        }
        inner = capacity;
    }
    return level == 0 && static_cast<double>(measurement.latencies.back().bytes) >= 2 * inner
               ? measurement.latencies.back().seconds
               : 0;
}

}  // namespace roofline::core
