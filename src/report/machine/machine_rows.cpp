#include "report/machine/machine_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "units/text.hpp"

namespace roofline::core {

namespace {

DisplayValue shown(FlopRate v) { return {to_text(v), exact_text(v.value)}; }
DisplayValue shown(Bandwidth v) { return {to_text(v), exact_text(v.value)}; }
DisplayValue shown(Bytes v) { return {capacity_text(v), exact_text(v.value)}; }
DisplayValue shown(Seconds v) { return {to_text(v), exact_text(v.value)}; }
DisplayValue shown(Frequency v) { return {to_text(v), exact_text(v.value)}; }
DisplayValue shown(Power v) { return {to_text(v), exact_text(v.value)}; }

std::string_view unit_of(FlopRate) { return "FLOP/s"; }
std::string_view unit_of(Bandwidth) { return "B/s"; }
std::string_view unit_of(Bytes) { return "B"; }
std::string_view unit_of(Seconds) { return "s"; }
std::string_view unit_of(Frequency) { return "Hz"; }
std::string_view unit_of(Power) { return "W"; }

class Rows {
public:
    template <class Q>
    void add(std::string group, std::string path, std::string label, const Figure<Q>& figure) {
        if (!figure.value && figure.note.empty()) return;
        FigureRow row;
        row.group = std::move(group);
        row.path = std::move(path);
        row.label = std::move(label);
        if (figure.value) row.value = shown(*figure.value);
        row.unit = unit_of(Q{});
        row.basis = figure.basis;
        row.confidence = figure.confidence;
        row.source = figure.source;
        row.note = figure.note;
        row.what_if = figure.what_if;
        for (const Alternative& other : figure.alternatives)
            row.alternatives.emplace_back(shown(Q{other.value}), other);
        rows.push_back(std::move(row));
    }

    std::vector<FigureRow> rows;
};

template <class Q>
Figure<Q> with_unit(const Figure<Scalar>& figure) {
    Figure<Q> result;
    if (figure.value) result.value = Q{figure.value->value};
    result.basis = figure.basis;
    result.confidence = figure.confidence;
    result.source = figure.source;
    result.note = figure.note;
    result.alternatives = figure.alternatives;
    return result;
}

void add_peaks(Rows& rows, const Machine& machine, Unit unit) {
    for (const Peak& peak : machine.peaks) {
        if (peak.unit != unit) continue;
        const bool usual = machine.peak(unit, peak.dtype) == &peak;
        const std::string path = fmt::format("{}.{}{}", name(unit), name(peak.dtype),
                                             usual ? "" : fmt::format("/{}", name(peak.accumulator)));
        const bool same = peak.accumulator == peak.dtype;
        rows.add(
            std::string(name(unit)), path,
            same ? std::string(name(peak.dtype)) : fmt::format("{}, {} sums", name(peak.dtype), name(peak.accumulator)),
            peak.rate);
        if (peak.passes > 0) {
            rows.rows.back().label = fmt::format("{}, in {} {} pass{}", name(peak.dtype), peak.passes, name(peak.of),
                                                 peak.passes == 1 ? "" : "es");
        }
        const bool told = peak.rate.note.find("spars") != std::string::npos;
        if (peak.quoted_sparse && peak.rate.value && !told) {
            rows.rows.back().note += rows.rows.back().note.empty() ? "" : "; ";
            rows.rows.back().note += "the vendor headline assumes 2:4 sparsity and is twice this";
        }
    }
}

void add_memory(Rows& rows, const Machine& machine) {
    for (const MemoryLevel& level : machine.memory) {
        rows.add("memory", level.id + ".capacity", level.label + " capacity", level.capacity);
        if (level.block.value) rows.add("memory", level.id + ".block", level.label + " a thread block", level.block);
        if (level.instances > 1 && level.capacity.value) {
            rows.rows.back().value.text = fmt::format("{} x {}", level.instances, rows.rows.back().value.text);
            rows.rows.back().each =
                fmt::format("each of {}{}", level.instances, level.scope == "chip" ? "" : ", one per " + level.scope);
        }
        rows.add("memory", level.id + ".bandwidth", level.label + " bandwidth", level.bandwidth);
        rows.add("memory", level.id + ".measured_bandwidth", level.label + " measured", level.measured_bandwidth);
    }
}

void add_network(Rows& rows, const Machine& machine) {
    for (const NetworkTier& tier : machine.network) {
        const auto add = [&](std::string_view key, std::string_view words, const auto& figure) {
            rows.add("network", fmt::format("{}.{}", tier.id, key), fmt::format("{} {}", tier.label, words), figure);
        };
        add("link_bandwidth", "a link", tier.link_bandwidth);
        add("chip_bandwidth", "a chip", tier.chip_bandwidth);
        add("effective_link_bandwidth", "usable link", tier.effective_link_bandwidth);
        add("hop_latency", "hop latency", tier.hop_latency);
        add("bisection", "bisection", tier.bisection);
        add("allreduce_bandwidth", "all-reduce", tier.allreduce_bandwidth);
    }
}

std::int64_t product(const std::vector<std::int64_t>& shape) {
    std::int64_t result = 1;
    for (const std::int64_t size : shape) result *= size;
    return result;
}

}  // namespace

std::vector<FigureRow> figure_rows(const Machine& machine) {
    Rows rows;
    add_peaks(rows, machine, Unit::matmul);
    add_peaks(rows, machine, Unit::vector);
    add_memory(rows, machine);
    if (machine.host) {
        const HostLink& host = *machine.host;
        rows.add("host", "pcie.bandwidth", host.kind, host.bandwidth);
        rows.add("host", "pcie.measured_bandwidth", host.kind + " measured", host.measured_bandwidth);
        rows.add("host", "dram.capacity", "host memory", host.memory_capacity);
        rows.add("host", "dram.bandwidth", "host memory bandwidth", host.memory_bandwidth);
    }
    add_network(rows, machine);
    rows.add("other", "clock", "clock", machine.clock);
    rows.add("other", "power", "power", machine.power);
    for (const Measurement& m : machine.measured) {
        std::string label = m.what;
        std::replace(label.begin(), label.end(), '_', ' ');
        if (m.unit == "FLOP/s") {
            rows.add("measured", "measured." + m.what, label, with_unit<FlopRate>(m.value));
        } else if (m.unit == "s") {
            rows.add("measured", "measured." + m.what, label, with_unit<Seconds>(m.value));
        } else {
            rows.add("measured", "measured." + m.what, label, with_unit<Bandwidth>(m.value));
        }
    }
    return std::move(rows.rows);
}

std::vector<RidgePoint> ridge_points(const Machine& machine) {
    std::vector<RidgePoint> points;
    for (const Peak& peak : machine.peaks) {
        if (peak.unit != Unit::matmul || !peak.rate.value || machine.peak(Unit::matmul, peak.dtype) != &peak) continue;
        for (const MemoryLevel& level : machine.memory) {
            if (!level.bandwidth.value) continue;
            const Intensity ridge = *peak.rate.value / *level.bandwidth.value;
            points.push_back(
                {peak.dtype, level.id, ridge.value, peak.rate.low_confidence() || level.bandwidth.low_confidence()});
        }
    }
    return points;
}

std::vector<PodTotal> pod_totals(const Machine& machine) {
    std::vector<PodTotal> totals;
    for (const NetworkTier& tier : machine.network) {
        if (tier.domain < 2 || tier.parts > 1) continue;
        PodTotal total;
        total.tier = tier.id;
        total.chips = tier.domain;
        const auto times = static_cast<double>(tier.domain);
        total.shape = tier.pod_shape;
        total.max_job = tier.max_job;
        if (!tier.host_shape.empty()) total.hosts = tier.domain / product(tier.host_shape);
        constexpr std::int64_t most = 1'000'000'000;
        if (machine.cores > 0 && machine.cores <= most) total.cores = tier.domain * machine.cores;
        const Peak* peak = machine.peak(Unit::matmul, Dtype::bf16);
        if (peak != nullptr && peak->rate.value) total.bf16 = *peak->rate.value * times;
        const MemoryLevel* hbm = machine.level("hbm");
        if (hbm != nullptr && hbm->total_capacity()) total.memory = *hbm->total_capacity() * times;
        if (machine.power.value) total.power = *machine.power.value * times;
        totals.push_back(std::move(total));
    }
    return totals;
}

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

}  // namespace roofline::core
