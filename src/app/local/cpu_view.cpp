#include "app/local/cpu_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "measure/cpu/cpu_machine.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

std::string size_text(double bytes) { return capacity_text(Bytes{bytes}); }
std::string times_text(int count) { return count == 1 ? "1 thread" : fmt::format("{} threads", count); }

MeasuredCell rate_cell(double rate) { return measured_number(number_text(rate / 1e9), rate); }
MeasuredCell count_cell(double count) { return measured_number(number_text(count), count); }

MeasuredTable peak_table(const CpuMeasurement& m) {
    MeasuredTable table{"peaks",
                        "Peaks, GFLOP/s (bytes: GOP/s)",
                        {{"dtype", "dtype"},
                         {"operation", "operation"},
                         {"instructions", "instructions"},
                         {"threads", "threads"},
                         {"p95_per_s", "p95"},
                         {"median_per_s", "median"},
                         {"p5_per_s", "p5"},
                         {"ops_per_cycle", "per cycle"},
                         {"port_fraction", "% of ports"},
                         {"hertz", "GHz"},
                         {"samples_kept", "samples"},
                         {"samples_tried", "of"},
                         {"refused", ""}},
                        {}};
    for (const PeakResult& peak : m.peaks) {
        MeasuredCell share;
        if (peak.port.rate > 0) share = measured_number(number_text(peak.port.share * 100), peak.port.share);
        table.rows.push_back({measured_text(std::string(name(peak.kernel.dtype))), measured_text(peak.kernel.title),
                              measured_text(peak.kernel.instructions), count_cell(peak.threads),
                              rate_cell(peak.rate.p95), rate_cell(peak.rate.median), rate_cell(peak.rate.p5),
                              count_cell(peak.ops_per_cycle), share, rate_cell(peak.hertz),
                              count_cell(static_cast<double>(peak.rate.kept)),
                              count_cell(static_cast<double>(peak.rate.tried)),
                              peak.refusal.empty() ? measured_text("") : measured_text("not used")});
    }
    table.remarks.emplace_back(
        "per cycle: operations of one thread per cycle of the clock, which is probed with each sample");
    return table;
}

struct BandwidthRow {
    std::map<std::string, const BandwidthResult*> kernels;  ///< the best working set of each kernel, by id
};

/// One row per level, number of threads, page size and core placement.
MeasuredTable bandwidth_table(const CpuMeasurement& m) {
    std::vector<MeasuredColumn> columns{
        {"level", "level"}, {"threads", "threads"}, {"pages", "pages"}, {"placement", "on"}};
    std::vector<std::string> ids;
    for (const BandwidthKernel& kernel : bandwidth_kernels(m.features)) {
        ids.push_back(kernel.id);
        columns.push_back({kernel.id + "_bytes_per_s", kernel.id});
    }
    columns.push_back({"moved_bytes_per_s", "most moved"});
    MeasuredTable table{"bandwidths", "Bandwidth, GB/s, p95 of clean samples", std::move(columns), {}};
    using Key = std::tuple<int, int, Pages, CorePlacement>;
    std::map<Key, BandwidthRow> rows;
    for (const BandwidthResult& each : m.bandwidths) {
        const int order = each.level == 0 ? 9 : each.level;
        auto& slot = rows[{order, each.threads, each.pages, each.placement}].kernels[each.kernel.id];
        if (slot == nullptr || slot->rate.p95 < each.rate.p95) slot = &each;
    }
    for (const auto& [key, row] : rows) {
        const auto& [order, threads, pages, placement] = key;
        double moved = 0;
        std::vector<MeasuredCell> cells{
            measured_text(order == 9 ? "DRAM" : fmt::format("L{}", order)), count_cell(threads),
            measured_text(pages == Pages::huge ? "huge" : "small"),
            measured_text(order == 9 && m.threads > 1 ? std::string(placement_text(placement)) : "")};
        for (const std::string& id : ids) {
            const auto found = row.kernels.find(id);
            if (found == row.kernels.end()) {
                cells.emplace_back();
                continue;
            }
            const BandwidthResult& result = *found->second;
            cells.push_back(rate_cell(result.rate.p95));
            moved = std::max(moved, result.rate.p95 * result.kernel.moved / result.kernel.visible);
        }
        cells.push_back(rate_cell(moved));
        table.rows.push_back(std::move(cells));
    }
    table.remarks.emplace_back(
        "bytes that the program loads and stores; most moved: including reads that plain stores cause (read for "
        "ownership)");
    return table;
}

MeasuredTable level_table(const CpuMeasurement& m) {
    MeasuredTable table{"levels",
                        "Levels",
                        {{"level", "level"},
                         {"capacity_bytes", "capacity"},
                         {"instances", "instances"},
                         {"bandwidth_bytes_per_s", "roof GB/s"},
                         {"latency_s", "latency ns"}},
                        {}};
    const auto row = [&](int level, const std::string& text, double capacity, double instances) {
        const BandwidthResult* roof = envelope(m, level, m.threads, best_placement(m));
        const double latency = latency_of(m, level);
        table.rows.push_back({measured_text(text), measured_number(size_text(capacity), capacity),
                              count_cell(instances), roof == nullptr ? MeasuredCell{} : rate_cell(roof->rate.p95),
                              latency > 0 ? measured_number(number_text(latency * 1e9), latency) : MeasuredCell{}});
    };
    for (const CpuCache& cache : m.topology.caches) {
        row(cache.level, fmt::format("L{}", cache.level), static_cast<double>(cache.bytes),
            static_cast<double>(cache.instances));
    }
    row(0, "DRAM", static_cast<double>(usable_memory()), 1);
    table.remarks.push_back("topology: " + (m.topology.source.empty() ? "not told" : m.topology.source));
    return table;
}

MeasuredTable latency_table(const CpuMeasurement& m) {
    MeasuredTable table{
        "plateaus", "Latency plateaus", {{"first_bytes", "from"}, {"last_bytes", "to"}, {"latency_s", "ns"}}, {}};
    for (const Plateau& plateau : m.plateaus) {
        const auto first = static_cast<double>(plateau.first_bytes);
        const auto last = static_cast<double>(plateau.last_bytes);
        table.rows.push_back({measured_number(size_text(first), first), measured_number(size_text(last), last),
                              measured_number(number_text(plateau.seconds * 1e9), plateau.seconds)});
    }
    return table;
}

MeasuredTable core_table(const CpuMeasurement& m) {
    MeasuredTable table{"core_to_core",
                        "One-way latency from the first core to another",
                        {{"other_core", "core"}, {"one_way_s", "ns"}},
                        {}};
    for (std::size_t i = 0; i < m.core_to_core.size() && i + 1 < m.topology.cpus.size(); ++i) {
        table.rows.push_back({count_cell(static_cast<double>(i + 1)),
                              measured_number(number_text(m.core_to_core[i] * 1e9), m.core_to_core[i])});
    }
    std::map<CorePlacement, int> seen;
    for (const CorePlacement placement : m.placements) ++seen[placement];
    std::string states;
    for (const auto& [placement, times] : seen) {
        states += fmt::format("{}{} in {} of {} probes", states.empty() ? "" : ", ", placement_text(placement), times,
                              m.placements.size());
    }
    if (!states.empty()) table.remarks.push_back(states);
    return table;
}

}  // namespace

MeasureReport cpu_report(const CpuMeasurement& m, const Machine& machine, const std::string& date) {
    MeasureReport report;
    const std::string_view kind = microarchitecture(m.features);
    report.title = fmt::format("{}{}{}{}, {}", machine.name, kind.empty() ? "" : " (", kind, kind.empty() ? "" : ")",
                               times_text(m.threads));
    report.machine = machine.id;
    report.date = date;
    report.method = fmt::format("roofline measure cpu, method {}", cpu_method_version);
    report.tables = {peak_table(m), bandwidth_table(m), level_table(m), latency_table(m)};
    if (!m.core_to_core.empty()) report.tables.push_back(core_table(m));
    report.warnings = m.warnings;
    report.notes = m.topology.notes;
    report.notes.insert(report.notes.end(), m.notes.begin(), m.notes.end());
    report.notes.push_back(
        fmt::format("{} samples, of which {} were disturbed and discarded", m.samples_tried, m.samples_rejected));
    return report;
}

MeasuredTable verification_table(const std::vector<PeakVerification>& verifications, const std::string& device) {
    MeasuredTable table{
        "verification",
        "Matmuls compared with the peaks, GFLOP/s (bytes: GOP/s)",
        {{"dtype", "dtype"}, {"size", "size"}, {"p95_per_s", "p95"}, {"roof_fraction", "% of peak"}, {"verdict", ""}},
        {}};
    for (const PeakVerification& each : verifications) {
        table.rows.push_back({measured_text(std::string(name(each.dtype))), count_cell(static_cast<double>(each.size)),
                              rate_cell(each.flops_per_s), measured_number(percent_text(each.fraction), each.fraction),
                              measured_text(each.verdict)});
    }
    table.remarks.push_back(device);
    return table;
}

MeasuredTable model_table(const Calibration& calibration) {
    MeasuredTable table{"laws",
                        "Expected times: kernel models fitted to runs on this machine",
                        {{"kind", "kind"},
                         {"dtype", "dtype"},
                         {"rows", "runs"},
                         {"error_held_out", "error %"},
                         {"error_of_bound", "error of bound %"},
                         {"math", "% of math"},
                         {"vector", "% of vector"},
                         {"memory", "% of DRAM"},
                         {"p", "p"},
                         {"fixed_s", "fixed us"}},
                        {}};
    const auto percent = [](double fraction) { return measured_number(percent_text(fraction), fraction); };
    for (const CalibratedKernel& kernel : calibration.kernels) {
        const KernelModel& fitted = kernel.fit.model;
        table.rows.push_back({measured_text(std::string(name(kernel.key.kind))), measured_text(kernel.key.dtype),
                              count_cell(static_cast<double>(kernel.fit.rows)), percent(kernel.fit.error_held_out),
                              percent(kernel.fit.error_of_bound), percent(fitted.math), percent(fitted.vector),
                              percent(fitted.memory),
                              std::isfinite(fitted.p) ? count_cell(fitted.p) : measured_text("inf"),
                              measured_number(number_text(fitted.fixed_s * 1e6), fitted.fixed_s)});
    }
    table.remarks.emplace_back(
        "error: mean of |expected - measured| / measured over held-out runs; docs/method/accuracy.md has the "
        "formula");
    return table;
}

MeasuredTable timed_table(const std::vector<TimedProgram>& programs) {
    MeasuredTable table{"timed",
                        "Programs that the kernel models were fitted to",
                        {{"program", "program"},
                         {"size", "size"},
                         {"measured_s", "measured"},
                         {"lower_s", "lower"},
                         {"expected_s", "expected"}},
                        {},
                        {},
                        true};
    const auto time = [](double seconds) {
        return seconds > 0 ? measured_number(to_text(Seconds{seconds}), seconds) : MeasuredCell{};
    };
    for (const TimedProgram& each : programs) {
        table.rows.push_back({measured_text(each.program), count_cell(static_cast<double>(each.size)),
                              time(each.measured_s), time(each.lower_s), time(each.expected_s)});
    }
    return table;
}

}  // namespace roofline::core
