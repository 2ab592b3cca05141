#include "app/local/network_tier.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/system_option.hpp"
#include "base/ascii.hpp"
#include "calibrate/collective/fit_collectives.hpp"
#include "machine/machine_text.hpp"
#include "predict/compare/measured_systems.hpp"
#include "predict/compare/predict_collective.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

NetworkTier tier_of(const NetworkTiming& timing) {
    NetworkTier tier;
    const bool one_host = timing.hosts == 1;
    tier.id = one_host ? "shm" : "hosts";
    tier.label = one_host ? "shared memory" : "between hosts";
    tier.topology = "switch";
    tier.domain = timing.ranks;
    tier.parts = std::max(timing.ranks / timing.hosts, 1);
    tier.chip_bandwidth.basis = Basis::measured;
    tier.chip_bandwidth.source = fmt::format("roofline measure network, {} ranks of {}{}", timing.ranks, timing.library,
                                             timing.date.empty() ? "" : ", " + timing.date);
    tier.hop_latency.basis = Basis::measured;
    tier.hop_latency.source = tier.chip_bandwidth.source;
    return tier;
}

Machine with_tier(Machine machine, NetworkTier tier) {
    std::erase_if(machine.network, [&](const NetworkTier& other) { return other.id == tier.id; });
    machine.network.insert(machine.network.begin(), std::move(tier));
    return machine;
}

Result<MeasuredSystems> systems_on(const Machine& machine) {
    return measured_systems({{machine.id, machine_text(machine), {}}}, {});
}

// With a tier of one byte per second and one second of latency, the load of an exchange directly gives its bytes and
// latencies.
Result<std::vector<double>> find_rates(const Machine& machine, const NetworkTiming& timing, NetworkTier& tier) {
    tier.chip_bandwidth.value = Bandwidth{1};
    tier.hop_latency.value = Seconds{1};
    ROOFLINE_TRY(auto systems, systems_on(with_tier(machine, tier)));
    std::vector<double> rates;
    double rate = 0;
    double latency = 0;
    std::string fastest;
    for (const TimedExchange& timed : timing.timed) {
        const MeasuredCollective row = row_of(timed, machine.id, software_name(timing.library));
        const Result<MeasuredGroup>& group = systems.group(row);
        if (!group) return fail(group.error());
        const TierLoad& load = group->load.tiers.front();
        rates.push_back(load.link_bytes.to_double() * row.bytes / row.time_s);
        if (rates.back() > rate) {
            rate = rates.back();
            fastest = fmt::format("reached by {} of {}", collective_name(row.kind, true), to_text(Bytes{row.size}));
        }
        const double step = load.latency_s > 0 ? row.time_s / load.latency_s : 0;
        if (step > 0 && (latency == 0 || step < latency)) latency = step;
    }
    tier.chip_bandwidth.value = Bandwidth{rate};
    tier.chip_bandwidth.note = fastest;
    tier.hop_latency.value = Seconds{latency};
    return rates;
}

Result<std::vector<CalibratedCollective>> models_of(const Machine& machine, const NetworkTiming& timing) {
    ROOFLINE_TRY(auto systems, systems_on(machine));
    std::vector<CollectiveSample> samples;
    for (const TimedExchange& timed : timing.timed) {
        const MeasuredCollective row = row_of(timed, machine.id, software_name(timing.library));
        const Result<MeasuredGroup>& group = systems.group(row);
        if (!group) return fail(group.error());
        if (auto sample = sample_of(row, *group)) samples.push_back(std::move(*sample));
    }
    CollectiveFit fit = fit_collectives(std::move(samples));
    if (fit.calibrations.empty()) return std::vector<CalibratedCollective>{};
    return std::move(fit.calibrations.front().models);
}

}  // namespace

// The version follows the last blank.
std::string software_name(const std::string& library) {
    const std::string folded = lowered(library);
    const std::size_t version = folded.rfind(' ');
    std::string name = folded.substr(0, version);
    std::erase(name, ' ');
    return version == std::string::npos ? name : name + folded.substr(version);
}

Result<MeasuredNetwork> with_network(const Machine& machine, const NetworkTiming& timing) {
    NetworkTier tier = tier_of(timing);
    ROOFLINE_TRY(auto rates, find_rates(machine, timing, tier));
    MeasuredNetwork network{with_tier(machine, std::move(tier)), {}, std::move(rates)};
    ROOFLINE_TRY(network.models, models_of(network.machine, timing));
    return network;
}

Result<std::string> machine_file(const MeasuredNetwork& network, const std::string& before, const std::string& name,
                                 const NetworkTiming& timing) {
    ROOFLINE_TRY(auto known, parse_machine_calibration(before, name));
    Calibration calibration = known.value_or(Calibration{});
    calibration.machine = network.machine.id;
    calibration.fitted = timing.date;
    calibration.tool = "roofline " ROOFLINE_VERSION;
    const std::string& tier = network.tier().id;
    std::erase_if(calibration.models, [&](const CalibratedCollective& model) { return model.key.tiers == tier; });
    calibration.models.insert(calibration.models.end(), network.models.begin(), network.models.end());
    return machine_text(network.machine) + machine_calibration_text(calibration);
}

}  // namespace roofline::core
