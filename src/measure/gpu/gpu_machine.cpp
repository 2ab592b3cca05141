#include "measure/gpu/gpu_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/ascii.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

/// Increased when the meaning of a figure changes.
constexpr int method = 1;

/// Rounds to five digits; a measurement has no more.
double rounded(double value) {
    if (!(value > 0)) return value;
    const double unit = std::pow(10.0, std::floor(std::log10(value)) - 4);
    return unit >= 1 ? std::round(value / unit) * unit : std::round(value / unit) / std::round(1 / unit);
}

template <class Q>
std::string spread_note(const GpuFigure& figure) {
    const auto said = [&](double seconds) { return to_text(Q{figure.work > 0 ? figure.work / seconds : seconds}); };
    return fmt::format("{}{}median {}, p5 to p95 {} to {}, {} samples", figure.how, figure.how.empty() ? "" : "; ",
                       said(figure.spread.median), said(figure.spread.p95), said(figure.spread.p5),
                       figure.spread.tried);
}

struct FigureMaker {
    std::string source;

    template <class Q>
    [[nodiscard]] Figure<Q> make(const GpuFigure& figure) const {
        Figure<Q> made;
        made.value = Q{rounded(figure.work > 0 ? figure.rate() : figure.spread.median)};
        made.basis = Basis::measured;
        made.confidence = 'A';
        made.source = source;
        made.note = spread_note<Q>(figure);
        return made;
    }
    /// A figure that the device reports about itself.
    template <class Q>
    [[nodiscard]] Figure<Q> reported(double value) const {
        Figure<Q> made;
        if (value > 0) made.value = Q{value};
        made.source = source;
        made.note = "as the device reports it";
        return made;
    }
    template <class Q>
    void record(Machine& machine, const GpuFigure& figure, const char* unit) const {
        const Figure<Q> made = make<Q>(figure);
        Measurement measurement{figure.what, {}, unit};
        measurement.value.value = Scalar{made.value->value};
        measurement.value.basis = made.basis;
        measurement.value.confidence = made.confidence;
        measurement.value.source = made.source;
        measurement.value.note = made.note;
        machine.measured.push_back(std::move(measurement));
    }
};

const GpuFigure* fastest(const std::vector<GpuFigure>& figures) {
    const auto found = std::max_element(figures.begin(), figures.end(),
                                        [](const GpuFigure& a, const GpuFigure& b) { return a.rate() < b.rate(); });
    return found == figures.end() ? nullptr : &*found;
}

/// An identifier such as "nvidia-h100-80gb-hbm3".
std::string id_of(const std::string& name) {
    std::string id;
    for (const char c : name) {
        const char lower = to_lower(c);
        if ((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9')) {
            id += lower;
        } else if (!id.empty() && id.back() != '-') {
            id += '-';
        }
        if (id.size() == 60) break;
    }
    while (!id.empty() && id.back() == '-') id.pop_back();
    return id.empty() ? "gpu" : id;
}

void add_peaks(Machine& machine, const GpuMeasurement& measurement, const FigureMaker& maker) {
    for (const GpuPeak& peak : measurement.matmul) {
        machine.peaks.push_back(
            {Unit::matmul, peak.dtype, info(peak.dtype).accumulator, maker.make<FlopRate>(peak.figure), false});
        maker.record<FlopRate>(machine, peak.figure, "FLOP/s");
    }
    for (const GpuPeak& peak : measurement.vector) {
        machine.peaks.push_back({Unit::vector, peak.dtype, peak.dtype, maker.make<FlopRate>(peak.figure), false});
        maker.record<FlopRate>(machine, peak.figure, "FLOP/s");
        // nothing else runs on the device meanwhile, so this is the clock that it sustains
        if (peak.dtype == Dtype::f32 && peak.clock_hz > 0) {
            machine.clock = maker.reported<Frequency>(rounded(peak.clock_hz));
            machine.clock.basis = Basis::measured;
            machine.clock.note = "during f32 multiply-adds in registers, by the device's own counters";
        }
    }
}

MemoryLevel level_of(const char* id, const char* label, std::int64_t capacity, const FigureMaker& maker) {
    MemoryLevel level;
    level.id = id;
    level.label = label;
    level.scope = "chip";
    level.managed = Managed::hardware;
    level.capacity = maker.reported<Bytes>(static_cast<double>(capacity));
    return level;
}

void add_memory(Machine& machine, const GpuMeasurement& measurement, const FigureMaker& maker) {
    MemoryLevel hbm = level_of("hbm", "device memory", measurement.gpu.memory_bytes, maker);
    if (const GpuFigure* best = fastest(measurement.hbm)) {
        hbm.bandwidth = maker.make<Bandwidth>(*best);
        hbm.bandwidth.note = best->what.substr(best->what.find('_') + 1) +
                             ", the fastest of read, write, copy and triad; " + hbm.bandwidth.note;
    }
    machine.memory.push_back(std::move(hbm));
    if (const GpuFigure* best = fastest(measurement.l2)) {
        MemoryLevel l2 = level_of("l2", "L2", measurement.gpu.l2_bytes, maker);
        l2.bandwidth = maker.make<Bandwidth>(*best);
        machine.memory.push_back(std::move(l2));
    }
    if (measurement.shared) {
        MemoryLevel shared = level_of("smem", "shared memory", measurement.gpu.shared_bytes, maker);
        shared.scope = "SM";
        shared.instances = measurement.gpu.multiprocessors;
        shared.managed = Managed::software;
        shared.bandwidth = maker.make<Bandwidth>(*measurement.shared);
        machine.memory.push_back(std::move(shared));
        maker.record<Bandwidth>(machine, *measurement.shared, "B/s");
    }
    for (const auto* figures : {&measurement.hbm, &measurement.l2, &measurement.host}) {
        for (const GpuFigure& figure : *figures) maker.record<Bandwidth>(machine, figure, "B/s");
    }
}

}  // namespace

Machine machine_of_gpu(const GpuMeasurement& measurement, const std::string& date) {
    const FigureMaker maker{fmt::format("roofline measure gpu, method {}{}{}; {}", method, date.empty() ? "" : ", ",
                                        date, measurement.software)};
    Machine machine;
    machine.id = id_of(measurement.gpu.name);
    machine.name = measurement.gpu.name.empty() ? "GPU" : measurement.gpu.name;
    machine.vendor = "NVIDIA";
    machine.kind = "gpu";
    machine.cores = measurement.gpu.multiprocessors;
    machine.cores_label = "SMs";
    add_peaks(machine, measurement, maker);
    add_memory(machine, measurement, maker);
    if (const GpuFigure* best = fastest(measurement.host)) {
        HostLink host;
        host.kind = measurement.gpu.integrated ? "shared memory" : "PCIe";
        host.bandwidth = maker.make<Bandwidth>(*best);
        machine.host = std::move(host);
    }
    if (measurement.power_limit_w) {
        machine.power = maker.reported<Power>(*measurement.power_limit_w);
        machine.power.note = "the current limit, as the device reports it";
    }
    for (const GpuFigure& figure : measurement.launches) maker.record<Seconds>(machine, figure, "s");
    // in the order of machine files
    std::sort(machine.measured.begin(), machine.measured.end(),
              [](const Measurement& a, const Measurement& b) { return a.what < b.what; });
    machine.notes = fmt::format("Measured{}{}. Compute capability {}.{}.", date.empty() ? "" : " on ", date,
                                measurement.gpu.major, measurement.gpu.minor);
    for (const std::string& note : measurement.notes) machine.notes += " Note: " + note + ".";
    return machine;
}

}  // namespace roofline::core
