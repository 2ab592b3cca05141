#include "measure/cpu/cpu_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr int outermost_cache = 3;

std::string source_text(const std::string& date) {
    return fmt::format("roofline measure cpu, method {}, version {}{}{}", cpu_method_version, ROOFLINE_VERSION,
                       date.empty() ? "" : ", ", date);
}

template <class Q>
std::string spread_note(const MeasuredRate& rate, int threads) {
    std::string note =
        fmt::format("{} threads: median {}, p5 to p95 {} to {}, {} of {} samples", threads, to_text(Q{rate.median}),
                    to_text(Q{rate.p5}), to_text(Q{rate.p95}), rate.kept, rate.tried);
    if (rate.disturbed) note += "; disturbed: the machine was busy";
    return note;
}

template <class Q>
Figure<Q> measured_figure(const MeasuredRate& rate, int threads, const std::string& what, const std::string& source) {
    Figure<Q> figure;
    figure.value = Q{rate.p95};
    figure.basis = Basis::measured;
    figure.confidence = rate.disturbed ? 'C' : 'A';
    figure.source = source;
    figure.note = what + "; " + spread_note<Q>(rate, threads);
    return figure;
}

/// Instructions per cycle times clock, for a kernel whose figure was rejected on a processor whose ports are known.
std::optional<Figure<FlopRate>> derived_peak(const CpuMeasurement& measurement, Unit unit, Dtype dtype,
                                             const std::string& source) {
    std::optional<Figure<FlopRate>> best;
    for (const PeakResult& peak : measurement.peaks) {
        if (peak.kernel.unit != unit || peak.kernel.dtype != dtype || peak.refusal.empty() || !peak.port.sure) continue;
        if (peak.threads != measurement.threads) continue;
        // a measured rate may have had a higher clock, but it was reached
        const FlopRate rate{std::max(peak.port.rate * peak.hertz * peak.threads, peak.rate.p95)};
        if (best && best->value->value >= rate.value) continue;
        Figure<FlopRate> figure;
        figure.value = rate;
        figure.basis = Basis::derived;
        figure.confidence = 'C';
        figure.source = source;
        figure.note = fmt::format("{} operations per cycle ({}) at {} on {} threads; the measured {} is not used: {}",
                                  number_text(peak.port.rate), peak.kernel.instructions, to_text(Frequency{peak.hertz}),
                                  peak.threads, to_text(FlopRate{peak.rate.p95}), peak.refusal);
        best = figure;
    }
    return best;
}

void add_peak(const CpuMeasurement& measurement, Unit unit, Dtype dtype, const std::string& source, Machine& machine) {
    Peak peak;
    peak.unit = unit;
    peak.dtype = dtype;
    peak.accumulator = unit == Unit::matmul ? info(dtype).accumulator : dtype;
    const PeakResult* best = best_peak(measurement, unit, dtype, measurement.threads);
    const auto derived = derived_peak(measurement, unit, dtype, source);
    if (best != nullptr) {
        peak.rate = measured_figure<FlopRate>(best->rate, best->threads, best->kernel.instructions, source);
    }
    // real kernels could exceed a peak below what the ports can do
    if (derived && (best == nullptr || derived->value->value > best->rate.p95)) peak.rate = *derived;
    if (peak.rate.value) machine.peaks.push_back(std::move(peak));
}

std::string bandwidth_text(const BandwidthResult& result) {
    return fmt::format("{} of {} per thread{}", result.kernel.title,
                       capacity_text(Bytes{static_cast<double>(result.working_set)}),
                       result.pages == Pages::small ? ", small pages" : "");
}

Figure<Bandwidth> level_bandwidth(const CpuMeasurement& measurement, int level, const std::string& source) {
    const CorePlacement usual = best_placement(measurement);
    const BandwidthResult* best = envelope(measurement, level, measurement.threads, usual);
    if (best == nullptr) return {};
    auto figure = measured_figure<Bandwidth>(best->rate, best->threads, bandwidth_text(*best), source);
    const double latency = latency_of(measurement, level);
    if (latency > 0) figure.note += "; latency " + to_text(Seconds{latency});
    if (level != 0 || measurement.threads < 2) return figure;
    figure.note += fmt::format("; on {}", placement_text(usual));
    for (const CorePlacement other : {CorePlacement::near, CorePlacement::mixed, CorePlacement::far}) {
        const BandwidthResult* state = envelope(measurement, level, measurement.threads, other);
        if (other == usual || state == nullptr) continue;
        figure.alternatives.push_back({state->rate.p95, source,
                                       fmt::format("on {}: {}; {}", placement_text(other), bandwidth_text(*state),
                                                   spread_note<Bandwidth>(state->rate, state->threads))});
    }
    return figure;
}

void add_levels(const CpuMeasurement& measurement, const std::string& source, Machine& machine) {
    MemoryLevel memory;
    memory.id = level_id(0);
    memory.label = "DRAM";
    memory.scope = "chip";
    if (const std::int64_t bytes = usable_memory(); bytes > 0) {
        memory.capacity.value = Bytes{static_cast<double>(bytes)};
        memory.capacity.basis = Basis::measured;
        memory.capacity.source = "the operating system";
    }
    memory.bandwidth = level_bandwidth(measurement, 0, source);
    machine.memory.push_back(std::move(memory));
    for (const CpuCache& cache : std::views::reverse(measurement.topology.caches)) {
        if (cache.level > outermost_cache) continue;
        MemoryLevel level;
        level.id = level_id(cache.level);
        level.label = fmt::format("L{}", cache.level);
        level.scope = cache.cores == 1 ? "core" : "chip";
        level.instances = cache.instances;
        level.capacity.value = Bytes{static_cast<double>(cache.bytes)};
        level.capacity.basis = Basis::measured;
        level.capacity.source = measurement.topology.source;
        level.bandwidth = level_bandwidth(measurement, cache.level, source);
        machine.memory.push_back(std::move(level));
    }
}

Figure<Scalar> median_figure(const MeasuredRate& rate, std::string note, const std::string& source) {
    Figure<Scalar> figure;
    figure.value = Scalar{rate.median};
    figure.basis = Basis::measured;
    figure.confidence = rate.disturbed ? 'C' : 'A';
    figure.source = source;
    figure.note = std::move(note);
    return figure;
}

void add_measurements(const CpuMeasurement& measurement, const std::string& source, Machine& machine) {
    for (const PeakResult& peak : measurement.peaks) {
        std::string note = fmt::format("{}, median; {} operations per cycle at {}{}", peak.kernel.instructions,
                                       number_text(peak.ops_per_cycle), to_text(Frequency{peak.hertz}),
                                       peak.refusal.empty() ? "" : "; not used: " + peak.refusal);
        machine.measured.push_back({fmt::format("{}_{}t", peak.kernel.id, peak.threads),
                                    median_figure(peak.rate, std::move(note), source), "FLOP/s"});
    }
    for (const BandwidthResult& each : measurement.bandwidths) {
        const std::string name =
            fmt::format("{}_{}_{}k_{}t{}{}", level_id(each.level), each.kernel.id, each.working_set / 1024,
                        each.threads, each.pages == Pages::small ? "_small_pages" : "",
                        each.level == 0 && each.placement == CorePlacement::far     ? "_far"
                        : each.level == 0 && each.placement == CorePlacement::mixed ? "_mixed"
                                                                                    : "");
        std::string note = fmt::format("{}, median, p95 {}; with reads for ownership {}", bandwidth_text(each),
                                       to_text(Bandwidth{each.rate.p95}),
                                       to_text(Bandwidth{each.rate.median * each.kernel.moved / each.kernel.visible}));
        machine.measured.push_back({name, median_figure(each.rate, std::move(note), source), "B/s"});
    }
}

}  // namespace

std::string level_id(int level) { return level == 0 ? "hbm" : fmt::format("l{}", level); }

Result<Machine> machine_of(const CpuMeasurement& measurement, const std::string& date) {
    const std::string source = source_text(date);
    Machine machine;
    machine.id = "this";
    const CpuFeatures& features = measurement.features;
    machine.name = features.name.empty() ? "this processor" : features.name;
    machine.vendor = features.vendor == "AuthenticAMD"   ? "AMD"
                     : features.vendor == "GenuineIntel" ? "Intel"
                                                         : features.vendor;
    machine.kind = "cpu";
    machine.cores = measurement.threads;
    machine.cores_label = "cores";
    if (measurement.hertz > 0) {
        machine.clock.value = Frequency{measurement.hertz};
        machine.clock.basis = Basis::measured;
        machine.clock.source = source;
        machine.clock.note = "from a chain of dependent additions, measured together with the peaks";
    }
    for (const DtypeInfo& dtype : all_dtypes()) add_peak(measurement, Unit::matmul, dtype.dtype, source, machine);
    add_peak(measurement, Unit::vector, Dtype::f64, source, machine);
    add_peak(measurement, Unit::vector, Dtype::f32, source, machine);
    if (machine.peaks.empty()) {
        return fail("measurement", "no peak is reliable: the measurement of every kernel was disturbed or rejected",
                    "measure again when the machine is quiet, or on fewer processors (taskset)");
    }
    add_levels(measurement, source, machine);
    if (!machine.memory.front().bandwidth.value) {
        return fail("measurement", "no bandwidth of main memory could be measured",
                    "measure again when the machine is quiet");
    }
    add_measurements(measurement, source, machine);
    for (const std::string& warning : measurement.warnings) {
        machine.notes += (machine.notes.empty() ? "" : "; ") + warning;
    }
    return machine;
}

}  // namespace roofline::core
