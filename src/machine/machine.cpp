#include "machine/machine.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofline::core {

namespace {

const Peak* with_rate(const Machine& machine, Unit unit, Dtype dtype) {
    const Peak* peak = machine.peak(unit, dtype);
    return peak != nullptr && peak->rate.value ? peak : nullptr;
}

const Peak* vector_peak(const Machine& machine, Dtype arithmetic);

const Peak* matmul_peak(const Machine& machine, Dtype arithmetic) {
    if (info(arithmetic).kind == DtypeKind::integer && info(arithmetic).bits >= 16) {
        const Peak* own = with_rate(machine, Unit::matmul, arithmetic);
        return own != nullptr ? own : vector_peak(machine, arithmetic);
    }
    for (const Dtype dtype : info(arithmetic).runs_as) {
        for (const Unit unit : {Unit::matmul, Unit::vector}) {
            const Peak* peak = with_rate(machine, unit, dtype);
            if (peak == nullptr) continue;
            if (dtype == arithmetic || peak->passes == 0)
                return peak;  // another unit may stand in, but passes apply only to their own dtype
        }
    }
    return nullptr;
}

/// The rate of f32 applies to every narrower dtype; f64 needs its own rate.
const Peak* vector_peak(const Machine& machine, Dtype arithmetic) {
    if (const Peak* own = with_rate(machine, Unit::vector, arithmetic)) return own;
    if (arithmetic != Dtype::f64) {
        if (const Peak* f32 = with_rate(machine, Unit::vector, Dtype::f32)) return f32;
    }
    for (const Dtype dtype : info(arithmetic).runs_as) {
        if (const Peak* peak = with_rate(machine, Unit::vector, dtype)) return peak;
    }
    return nullptr;
}

/// Vector units normally compute 16-bit floats in f32.
bool usual_in_f32(Dtype arithmetic) {
    return info(arithmetic).kind == DtypeKind::floating && info(arithmetic).bits >= 16;
}

}  // namespace

std::string_view name(Basis basis) {
    switch (basis) {
        case Basis::spec:
            return "spec";
        case Basis::measured:
            return "measured";
        case Basis::derived:
            return "derived";
        case Basis::assumed:
            return "assumed";
    }
    return "spec";
}

std::optional<Bytes> MemoryLevel::total_capacity() const {
    if (!capacity.value) return std::nullopt;
    return *capacity.value * static_cast<double>(instances);
}

const MemoryLevel* Machine::level(std::string_view wanted) const {
    const auto found = std::find_if(memory.begin(), memory.end(), [&](const MemoryLevel& l) { return l.id == wanted; });
    return found == memory.end() ? nullptr : &*found;
}

const NetworkTier* Machine::tier(std::string_view wanted) const {
    const auto found =
        std::find_if(network.begin(), network.end(), [&](const NetworkTier& t) { return t.id == wanted; });
    return found == network.end() ? nullptr : &*found;
}

const Peak* Machine::peak(Unit unit, Dtype dtype) const {
    const Peak* best = nullptr;
    const auto worth = [&](const Peak& peak) {
        return (peak.rate.value ? 2 : 0) + (peak.accumulator == info(dtype).accumulator ? 1 : 0);
    };
    for (const Peak& peak : peaks) {
        if (peak.unit != unit || peak.dtype != dtype) continue;
        if (best == nullptr || worth(peak) > worth(*best)) best = &peak;
    }
    return best;
}

void update_pass_rates(Machine& machine) {
    for (Peak& peak : machine.peaks) {
        if (peak.passes == 0) continue;
        const Peak* unit = machine.peak(peak.unit, peak.of);
        peak.rate.value.reset();
        if (unit == nullptr || !unit->rate.value) continue;
        peak.rate.value = *unit->rate.value / static_cast<double>(peak.passes);
        peak.rate.basis = unit->rate.basis == Basis::spec ? Basis::derived : unit->rate.basis;
        peak.rate.confidence = unit->rate.confidence;
        peak.rate.what_if = unit->rate.what_if;
        peak.rate.note = passes_text(peak);
    }
}

std::string passes_text(const Peak& peak) {
    std::string precision;
    for (const PassScheme& scheme : pass_schemes(peak.dtype, peak.of)) {
        if (scheme.passes == peak.passes) precision = scheme.precision;
    }
    return fmt::format("{} {} pass{}: {}", peak.passes, name(peak.of), peak.passes == 1 ? "" : "es", precision);
}

Result<Assigned> assign(const Machine& machine, Unit unit, Dtype arithmetic) {
    const Peak* peak = unit == Unit::matmul ? matmul_peak(machine, arithmetic) : vector_peak(machine, arithmetic);
    if (peak == nullptr) {
        return fail(
            "no_rate",
            fmt::format("{} has no {} rate for {} or for a dtype that could replace it", machine.name, name(unit),
                        name(arithmetic)),
            fmt::format("set one with --set {}.{}=<FLOP/s>, or choose another dtype", name(unit), name(arithmetic)));
    }
    const bool exact = peak->unit == unit && peak->dtype == arithmetic;
    const bool usual = unit == Unit::vector && peak->dtype == Dtype::f32 && usual_in_f32(arithmetic);
    return Assigned{peak, !exact && !usual};
}

}  // namespace roofline::core
