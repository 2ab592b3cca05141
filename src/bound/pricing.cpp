#include "bound/pricing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "units/text.hpp"

namespace roofline::core {

std::string Rate::value_text() const { return flops ? to_text(FlopRate{value}) : to_text(Bandwidth{value}); }

WeightedSum Resource::time() const {
    WeightedSum sum;
    for (const Term& term : terms) sum.emplace_back(term.work, 1.0 / term.rate.value);
    return sum;
}

std::size_t Resource::cuts() const {
    std::size_t most = 1;
    for (const Term& term : terms) most = std::max(most, term.cuts.size());
    return most;
}

WeightedSum Resource::time(std::size_t cut) const {
    WeightedSum sum;
    for (const Term& term : terms) {
        const Polynomial work = term.cuts.empty() ? term.work : term.work * Polynomial(term.cuts[cut]);
        sum.emplace_back(work, 1.0 / term.rate.value);
    }
    return sum;
}

WeightedSum Resource::least_time(std::size_t cut) const {
    WeightedSum sum = time(cut);
    for (std::size_t i = 0; i < terms.size(); ++i) sum[i].second *= terms[i].sure;
    return sum;
}

bool Resource::unsure() const {
    return std::any_of(terms.begin(), terms.end(), [](const Term& term) { return term.sure < 1; });
}

Polynomial Resource::work() const {
    Polynomial sum;
    for (const Term& term : terms) sum += term.work;
    return sum;
}

std::vector<KeyedFlops> Pricing::flops_by() const {
    std::vector<KeyedFlops> all;
    for (const Resource& resource : resources) {
        if (!resource.compute()) continue;
        for (const Term& term : resource.terms) all.push_back({term.key, term.work});
    }
    all.insert(all.end(), unpriced_flops.begin(), unpriced_flops.end());
    return all;
}

const Resource* Pricing::find(std::string_view id) const {
    const auto found = std::find_if(resources.begin(), resources.end(), [&](const Resource& r) { return r.id == id; });
    return found == resources.end() ? nullptr : &*found;
}

const Resource* Pricing::compute() const {
    const Resource* math = find("math");
    return math != nullptr ? math : find("vector");
}

std::string level_label(const std::string& level) {
    if (level == "pcie") return "PCIe";
    return uppered(level);
}

std::string level_label(const Machine& machine, const std::string& level) {
    const MemoryLevel* memory = machine.level(level);
    const std::string usual = level_label(level);
    if (level != "hbm" || memory == nullptr || memory->label == level) return usual;
    const std::string own = memory->label.substr(0, memory->label.find(' '));
    return own.empty() || own.starts_with(usual) ? usual : own;
}

std::string low_confidence_note(const Rate& rate) {
    return fmt::format("low confidence: the bound rests on the {}, {} ({}, confidence {}: {}{}{})", rate.label,
                       rate.value_text(), name(rate.basis), rate.confidence, rate.source, rate.note.empty() ? "" : "; ",
                       rate.note);
}

Rate rate_of(const Peak& peak) {
    return rate_from(peak.rate, fmt::format("{}.{}", name(peak.unit), name(peak.dtype)),
                     fmt::format("{} {} peak", name(peak.dtype), name(peak.unit)));
}

std::optional<Rate> bandwidth_of(const Machine& machine, const std::string& level) {
    const Figure<Bandwidth>* figure = nullptr;
    if (level == "pcie") {
        if (machine.host) figure = &machine.host->bandwidth;
    } else if (const MemoryLevel* found = machine.level(level)) {
        figure = &found->bandwidth;
    }
    if (figure == nullptr || !figure->value) return std::nullopt;
    return rate_from(*figure, level + ".bandwidth", level_label(machine, level) + " bandwidth");
}

namespace {

Resource& resource(Pricing& pricing, const std::string& id, const std::string& label) {
    for (Resource& existing : pricing.resources) {
        if (existing.id == id) return existing;
    }
    pricing.resources.push_back({id, label, {}});
    return pricing.resources.back();
}

// Notes the number of passes in which a matmul is executed, for which precision, and the alternatives.
void note_passes(Pricing& pricing, const Machine& machine, const Peak& peak) {
    std::string others;
    for (const PassScheme& scheme : pass_schemes(peak.dtype, peak.of)) {
        if (scheme.passes == peak.passes) continue;
        others += fmt::format("{} --set passes.{}={} for {} ({})", others.empty() ? ";" : ",", name(peak.dtype),
                              scheme.passes, scheme.passes, scheme.precision);
    }
    pricing.notes.push_back(fmt::format("{} has no {} matrix unit: matmuls in {} take {}{}", machine.name,
                                        name(peak.dtype), name(peak.dtype), passes_text(peak), others));
}

// Notes why this peak applies to this work.
void note_peak(Pricing& pricing, const Machine& machine, const ComputeWork& work, const Assigned& assigned) {
    const Peak& peak = *assigned.peak;
    if (assigned.stands_in) {
        const bool integer_lanes =
            info(work.dtype).kind == DtypeKind::integer && info(work.dtype).bits >= 16 && peak.dtype == Dtype::f32;
        pricing.notes.push_back(fmt::format("{} has no {} {} rate: priced at its {} {} rate{}", machine.name,
                                            name(work.dtype), work.unit == Unit::matmul ? "matrix-unit" : "vector",
                                            name(peak.dtype), peak.unit == Unit::matmul ? "matrix-unit" : "vector",
                                            integer_lanes              ? ", which its integer lanes do not exceed"
                                            : peak.dtype != work.dtype ? ", the next that is wide enough"
                                                                       : ""));
    }
    if (peak.passes > 0) note_passes(pricing, machine, peak);
    if (peak.unit != Unit::matmul) return;
    for (const Peak& other : machine.peaks) {
        const bool narrower =
            other.unit == peak.unit && other.dtype == peak.dtype && other.accumulator != peak.accumulator;
        if (narrower && other.rate.value && peak.rate.value && *other.rate.value > *peak.rate.value) {
            pricing.notes.push_back(fmt::format("{} sums in {}; adding up in {} runs at {}", name(peak.dtype),
                                                name(peak.accumulator), name(other.accumulator),
                                                to_text(*other.rate.value)));
        }
    }
}

// Vector work of a chip whose vector units have no published rate for it is counted but left out of the bounds.
void note_unpriced(Pricing& pricing, const Machine& machine, const ComputeWork& work) {
    pricing.unpriced_flops.push_back({fmt::format("{}/{}", name(work.unit), name(work.dtype)), work.flops});
    if (std::find(pricing.unpriced.begin(), pricing.unpriced.end(), "vector") == pricing.unpriced.end())
        pricing.unpriced.emplace_back("vector");
    pricing.notes.push_back(
        fmt::format("no rate of the vector units of {} for {} is published, so that work is not in the bounds; "
                    "try --set vector.f32=5TFLOP/s",
                    machine.name, name(work.dtype)));
}

Status price_compute(Pricing& pricing, const Work& work, const Machine& machine) {
    // math comes before vector
    for (const Unit unit : {Unit::matmul, Unit::vector}) {
        for (const ComputeWork& entry : work.compute) {
            auto assigned = assign(machine, entry.unit, entry.dtype);
            if (!assigned && entry.unit == Unit::vector) {
                if (unit == Unit::vector) note_unpriced(pricing, machine, entry);
                continue;
            }
            if (!assigned) return fail(assigned.error());
            const Peak& peak = *assigned->peak;
            if (peak.unit != unit) continue;
            Resource& target =
                unit == Unit::matmul ? resource(pricing, "math", "math") : resource(pricing, "vector", "vector");
            const std::string key = fmt::format("{}/{}", name(peak.unit), name(peak.dtype));
            const auto same = std::find_if(target.terms.begin(), target.terms.end(),
                                           [&](const Term& term) { return term.key == key; });
            if (same != target.terms.end()) {
                same->work += entry.flops;
            } else {
                target.terms.push_back({key, entry.flops, rate_of(peak)});
            }
            note_peak(pricing, machine, entry, *assigned);
        }
    }
    return {};
}

Status price_level(Pricing& pricing, const std::string& level, const Traffic& traffic, const Machine& machine) {
    if (level == "pcie" && !machine.host) {
        return fail("no_host_link", fmt::format("the file of {} has no link to host memory", machine.name),
                    "place the tensor at another level, or add [host] to your own machine file");
    }
    if (level != "pcie" && machine.level(level) == nullptr) {
        std::vector<std::string> levels;
        for (const MemoryLevel& memory : machine.memory) levels.push_back(memory.id);
        levels.emplace_back("host");
        return fail("unknown_level", fmt::format("{} has no memory level `{}`", machine.name, level),
                    did_you_mean(level, levels, fmt::format("its levels are {}", fmt::join(levels, ", "))));
    }
    const auto rate = bandwidth_of(machine, level);
    if (!rate) {
        if (level == "hbm") {
            return fail("no_figure", fmt::format("the main memory bandwidth of {} is not known", machine.name),
                        "give one: --set hbm.bandwidth=1TB/s");
        }
        pricing.unpriced.push_back(level);
        pricing.notes.push_back(
            fmt::format("the {} bandwidth of {} is not published, so its traffic is not in the bounds; "
                        "try --set {}.bandwidth=10TB/s",
                        level_label(machine, level), machine.name, level));
        return {};
    }
    resource(pricing, level, level_label(machine, level)).terms.push_back({level, traffic.total(), *rate});
    return {};
}

}  // namespace

Result<Pricing> price(const Work& work, const Machine& machine) {
    Pricing pricing;
    ROOFLINE_CHECK(price_compute(pricing, work, machine));
    std::vector<std::string> levels;  // outermost first, the link to the host before all
    if (work.memory.contains("pcie")) levels.emplace_back("pcie");
    for (const MemoryLevel& memory : machine.memory) {
        if (work.memory.contains(memory.id)) levels.push_back(memory.id);
    }
    for (const auto& [level, traffic] : work.memory) {
        if (std::find(levels.begin(), levels.end(), level) == levels.end()) levels.push_back(level);  // refused below
    }
    for (const std::string& level : levels) {
        const Traffic& traffic = work.memory.at(level);
        ROOFLINE_CHECK(price_level(pricing, level, traffic, machine));
    }
    std::vector<std::string> unique;
    for (std::string& note : pricing.notes) {
        if (std::find(unique.begin(), unique.end(), note) == unique.end()) unique.push_back(std::move(note));
    }
    pricing.notes = std::move(unique);
    return pricing;
}

}  // namespace roofline::core
