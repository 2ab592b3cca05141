#include "bound/network_pricing.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofline {

namespace {

// All links of a `pair` join the same two chips, so there the chip's rate is what its one neighbour gets.
bool by_link(const NetworkTier& tier) { return has_axes(tier) || tier.topology == "full_mesh"; }

const Figure<Bandwidth>& one_way(const NetworkTier& tier) {
    return by_link(tier) ? tier.link_bandwidth : tier.chip_bandwidth;
}

}  // namespace

std::optional<Rate> rate_of(const NetworkTier& tier) {
    const Figure<Bandwidth>& figure = one_way(tier);
    if (!figure.value) return std::nullopt;
    return rate_from(figure, tier.id + ".bandwidth",
                     fmt::format("{} bandwidth of a {}, one way", tier.label, by_link(tier) ? "link" : "chip"));
}

namespace {

Resource& tier_resource(Pricing& pricing, const NetworkTier& tier) {
    for (Resource& resource : pricing.resources) {
        if (resource.id == tier.id) return resource;
    }
    pricing.resources.push_back({tier.id, tier.label, {}});
    return pricing.resources.back();
}

void note_unpublished(Pricing& pricing, const System& system, const NetworkTier& tier) {
    if (std::find(pricing.unpriced.begin(), pricing.unpriced.end(), tier.id) != pricing.unpriced.end()) return;
    pricing.unpriced.push_back(tier.id);
    pricing.notes.push_back(
        fmt::format("the {} bandwidth of {} is not published, so its traffic is not in the bounds; "
                    "try --set {}.bandwidth=50GB/s",
                    tier.label, system.machine().name, tier.id));
}

}  // namespace

Result<CollectiveLoad> load_of(const Message& message, const System& system) {
    std::vector<const PlacedAxis*> axes;
    for (const std::string& name : message.axes) {
        const PlacedAxis* axis = system.axis(name);
        if (axis == nullptr) return fail("unknown_axis", fmt::format("the mesh has no axis `{}`", name));
        axes.push_back(axis);
    }
    return collective_load(system.slice, message.kind, axes, system.collectives);
}

Status price_network(Pricing& pricing, const Work& work, const System& system) {
    std::vector<std::vector<Term>> by_tier(system.slice.tiers.size());
    for (const MessageWork& each : work.messages) {
        auto load = load_of(each.message, system);
        if (!load) return fail(load.error());
        for (const TierLoad& tier : load->tiers) {
            const NetworkTier& network = system.slice.network(system.slice.tiers[tier.tier]);
            const auto rate = rate_of(network);
            if (!rate) {
                note_unpublished(pricing, system, network);
                continue;
            }
            Term term{network.id, each.message.bytes * each.count * Polynomial(tier.link_bytes), *rate};
            term.latency_s = tier.latency_s;
            term.count = each.count;
            for (const Rational& cut : tier.cuts) term.cuts.push_back(cut / tier.link_bytes);
            by_tier[tier.tier].push_back(std::move(term));
        }
    }
    for (std::size_t i = 0; i < by_tier.size(); ++i) {
        if (by_tier[i].empty()) continue;
        Resource& resource = tier_resource(pricing, system.slice.network(system.slice.tiers[i]));
        for (Term& term : by_tier[i]) resource.terms.push_back(std::move(term));
    }
    return {};
}

std::optional<CollectiveTime> time_of(const CollectiveLoad& load, const System& system, double bytes) {
    CollectiveTime time;
    for (const TierLoad& tier : load.tiers) {
        const Figure<Bandwidth>& rate = one_way(system.slice.network(system.slice.tiers[tier.tier]));
        if (!rate.value) return std::nullopt;
        const double transfer = bytes * tier.link_bytes.to_double() / rate.value->value;
        const double seconds = std::max(transfer, tier.latency_s);
        if (seconds > time.lower_s) {
            time.lower_s = seconds;
            time.latency_bound = tier.latency_s > transfer;
        }
        time.upper_s += transfer + tier.latency_s;
    }
    return time;
}

std::optional<CollectiveTime> time_of(const TransferLoad& load, const Slice& slice, double bytes) {
    std::vector<double> rates;
    for (std::size_t tier = 0; tier < slice.tiers.size(); ++tier) {
        const Figure<Bandwidth>& rate = one_way(slice.network(slice.tiers[tier]));
        const bool used = std::any_of(load.cuts.begin(), load.cuts.end(),
                                      [&](const TransferCut& cut) { return !cut.links[tier].is_zero(); });
        if (used && !rate.value) return std::nullopt;
        rates.push_back(rate.value ? rate.value->value : 0);
    }
    const double transfer = load.transfer_s(bytes, rates);
    return CollectiveTime{std::max(transfer, load.latency_s), transfer + load.latency_s, load.latency_s > transfer};
}

}  // namespace roofline
