#include "bound/network_pricing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "network/permutation.hpp"

namespace roofline::core {

namespace {

// All links of a `pair` connect the same two chips, so the chip's rate is the rate to its one neighbour.
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

// The tiers of the links of a load, innermost first.
std::vector<std::size_t> tiers_of(const TierLoad& load) {
    std::vector<std::size_t> tiers;
    for (std::size_t tier = 0; tier < load.links.size(); ++tier) {
        if (!load.links[tier].is_zero()) tiers.push_back(tier);
    }
    if (tiers.empty()) tiers.push_back(load.tier);
    return tiers;
}

// The total rate of the links of a load in bytes/s.
std::optional<double> speed_of(const TierLoad& load, const System& system) {
    double speed = 0;
    for (const std::size_t tier : tiers_of(load)) {
        const Figure<Bandwidth>& rate = one_way(system.slice.network(system.slice.tiers[tier]));
        if (!rate.value) return std::nullopt;
        speed += rate.value->value * (load.links.empty() ? 1 : load.links[tier].to_double());
    }
    return speed;
}

Resource& resource_of(Pricing& pricing, const LoadName& name) {
    for (Resource& resource : pricing.resources) {
        if (resource.id == name.id) return resource;
    }
    pricing.resources.push_back({name.id, name.label, {}});
    return pricing.resources.back();
}

void note_unpublished(Pricing& pricing, const System& system, const TierLoad& load) {
    for (const std::size_t i : tiers_of(load)) {
        const NetworkTier& tier = system.slice.network(system.slice.tiers[i]);
        if (one_way(tier).value) continue;
        if (std::find(pricing.unpriced.begin(), pricing.unpriced.end(), tier.id) != pricing.unpriced.end()) continue;
        pricing.unpriced.push_back(tier.id);
        pricing.notes.push_back(
            fmt::format("the {} bandwidth of {} is not published, so its traffic is not in the bounds; "
                        "try --set {}.bandwidth=50GB/s",
                        tier.label, system.machine().name, tier.id));
    }
}

// Returns a cut as a load.
TierLoad load_of(const TransferCut& cut, const TransferLoad& transfer) {
    TierLoad load;
    std::size_t tiers = 0;
    for (std::size_t tier = 0; tier < cut.links.size(); ++tier) {
        if (cut.links[tier].is_zero()) continue;
        load.tier = tier;
        ++tiers;
    }
    load.latency_s = transfer.latency_s;
    load.over = LoadedLinks::between;
    if (tiers > 1) load.links = cut.links;
    load.link_bytes = tiers > 1 ? cut.bytes : cut.bytes / cut.links[load.tier];
    load.two_phase_bytes = load.link_bytes;
    return load;
}

Result<Chip> chip_of(const MeshPlace& place, const System& system) {
    std::vector<std::int64_t> coordinates(system.mesh.size(), 0);
    for (const auto& [name, coordinate] : place) {
        const PlacedAxis* axis = system.axis(name);
        if (axis == nullptr) return fail("unknown_axis", fmt::format("the mesh has no axis `{}`", name));
        coordinates[static_cast<std::size_t>(axis - system.mesh.data())] = coordinate;
    }
    return chip_at(system.slice, system.mesh, coordinates);
}

// A message with a root, whose array lies in so many parts.
Result<TransferLoad> transfer_of(const Message& message, const System& system, std::int64_t parts) {
    ROOFLINE_TRY(auto root, chip_of(message.from.empty() ? message.to : message.from, system));
    if (info(message.kind).ends != Ends::one_to_one) {
        return rooted_load(system.slice, message.kind, root, parts);
    }
    ROOFLINE_TRY(auto to, chip_of(message.to, system));
    return send_load(system.slice, root, to);
}

Result<CollectiveLoad> tightest(const TransferLoad& transfer, const Message& message, const System& system,
                                std::int64_t parts) {
    CollectiveLoad result;
    // Of several cuts over the same links only the one around the chip is kept, because it has the most bytes.
    std::vector<std::pair<LoadedLinks, std::vector<Rational>>> ends;
    for (const LoadedLinks end : {LoadedLinks::sender, LoadedLinks::receiver}) {
        const MeshPlace& place = end == LoadedLinks::sender ? message.from : message.to;
        if (place.empty()) continue;
        ROOFLINE_TRY(const auto chip, chip_of(place, system));
        ends.emplace_back(end, chip_links(system.slice, chip));
    }
    result.kind = message.kind;
    result.hops = transfer.hops;
    const Ends between = info(message.kind).ends;
    result.members = between == Ends::one_to_one ? 2 : system.slice.chips();
    result.sent_by_all = between == Ends::one_to_one   ? Rational(1)
                         : between == Ends::one_to_all ? Rational(system.slice.chips() - 1, parts)
                                                       : Rational(parts - 1, parts);
    double longest = -1;
    for (const TransferCut& cut : transfer.cuts) {
        TierLoad load = load_of(cut, transfer);
        const auto speed = speed_of(load, system);
        const double seconds = speed ? load.link_bytes.to_double() / *speed : 0;
        if (seconds <= longest) continue;
        longest = seconds;
        const auto end =
            std::find_if(ends.begin(), ends.end(), [&](const auto& each) { return each.second == cut.links; });
        if (end != ends.end()) load.over = end->first;
        result.tiers.assign(1, load);
    }
    // For the root, or for a chip that sends to it.
    for (TierLoad& tier : result.tiers)
        tier.sent_bytes = result.sent_by_all < Rational(1) ? result.sent_by_all : Rational(1);
    return result;
}

// On larger slices a permute is assumed to be between neighbours, because known targets are analysed chip by chip.
constexpr std::int64_t max_reordered = 16'384;

// Returns the targets of a permute if they are known: axes change their order, or each chip sends to the next one.
Result<std::vector<std::int64_t>> targets(const Message& message, const std::vector<const PlacedAxis*>& before,
                                          const System& system) {
    if (message.hops > 0) return next_along(system.slice, before);
    std::vector<const PlacedAxis*> after;
    for (const std::string& name : message.axes_after) {
        const PlacedAxis* axis = system.axis(name);
        if (axis == nullptr) return fail("unknown_axis", fmt::format("the mesh has no axis `{}`", name));
        after.push_back(axis);
    }
    return reorder(system.slice, before, after);
}

// Each chip sends its part, of V / parts bytes, to the chip that will hold it. Data for chips beyond the next one is
// forwarded, so each link carries all of it, one hop after the other.
Result<CollectiveLoad> permuted(const Message& message, const std::vector<const PlacedAxis*>& before,
                                const System& system, std::int64_t parts) {
    ROOFLINE_TRY(const auto to, targets(message, before, system));
    ROOFLINE_TRY(auto transfer, permutation_load(system.slice, to));
    if (message.hops > 0) {
        transfer.latency_s *= static_cast<double>(message.hops);
        transfer.hops *= message.hops;
    }
    for (TransferCut& cut : transfer.cuts) cut.bytes = cut.bytes / Rational(parts);
    ROOFLINE_TRY(auto load, tightest(transfer, message, system, parts));
    load.members = parts;
    for (TierLoad& tier : load.tiers) tier.sent_bytes = Rational(1, parts);
    return load;
}

}  // namespace

std::optional<Rate> rate_of(const TierLoad& load, const System& system) {
    const auto speed = speed_of(load, system);
    if (!speed) return std::nullopt;
    const Slice& slice = system.slice;
    auto rate = rate_of(slice.network(slice.tiers[load.tier]));
    if (load.links.empty()) return rate;
    std::vector<std::string> paths;
    std::vector<std::string> sources;
    for (const std::size_t tier : tiers_of(load)) {
        const Rate one = *rate_of(slice.network(slice.tiers[tier]));
        paths.push_back(one.path);
        if (std::find(sources.begin(), sources.end(), one.source) == sources.end()) sources.push_back(one.source);
        if (one.confidence > rate->confidence) {
            rate->basis = one.basis;
            rate->confidence = one.confidence;
        }
        rate->what_if = rate->what_if || one.what_if;
    }
    rate->path = fmt::format("{}", fmt::join(paths, " + "));
    rate->source = fmt::format("{}", fmt::join(sources, "; "));
    rate->label =
        fmt::format("bandwidth of the links of {} around a chip or node, one way", name_of(load, system).label);
    rate->value = *speed;
    rate->alternatives.clear();
    return rate;
}

LoadName name_of(const TierLoad& load, const System& system) {
    std::vector<std::string> ids;
    std::vector<std::string> labels;
    for (const std::size_t tier : tiers_of(load)) {
        const NetworkTier& network = system.slice.network(system.slice.tiers[tier]);
        ids.push_back(network.id);
        labels.push_back(network.label);
    }
    return {fmt::format("{}", fmt::join(ids, "+")), fmt::format("{}", fmt::join(labels, " + "))};
}

bool knows_targets(const System& system) {
    return system.slice.chips() <= max_reordered && !system.collectives.textbook;
}

bool shares_ports(const TierLoad& load, CollectiveKind kind, const System& system) {
    return kind == CollectiveKind::permute && load.links.empty() &&
           !has_axes(system.slice.network(system.slice.tiers[load.tier]));
}

Result<CollectiveLoad> load_of(const Message& message, const System& system) {
    std::vector<const PlacedAxis*> axes;
    std::int64_t parts = 1;
    for (const std::string& name : message.axes) {
        const PlacedAxis* axis = system.axis(name);
        if (axis == nullptr) return fail("unknown_axis", fmt::format("the mesh has no axis `{}`", name));
        axes.push_back(axis);
        parts *= axis->size;
    }
    const bool known = !message.axes_after.empty() || message.hops > 0;
    if (known && knows_targets(system)) {
        return permuted(message, axes, system, parts);
    }
    if (!has_root(message.kind)) {
        return collective_load(system.slice, message.kind, axes, system.collectives, system.axes());
    }
    ROOFLINE_TRY(const auto transfer, transfer_of(message, system, parts));
    return tightest(transfer, message, system, parts);
}

namespace {

/// A term of a tier, and the links that it uses: "" for all chips alike.
struct Busy {
    Term term;
    std::string links;
};

std::string links_text(const TierLoad& load, const Message& message, const System& system) {
    if (shares_ports(load, message.kind, system)) return "";
    switch (load.over) {
        case LoadedLinks::all:
            return "";
        case LoadedLinks::sender:
            return "out of " + place_text(message.from);
        case LoadedLinks::receiver:
            return "into " + place_text(message.to);
        case LoadedLinks::between:
            break;
    }
    return fmt::format("{}{}", collective_name(message.kind), route_text(message));
}

// Terms on separate links run at the same time: each of these is a separate cut, beside the cuts of a torus.
void separate_terms(std::vector<Busy>& terms) {
    std::vector<std::string> separate;
    std::size_t sets = 0;
    for (const Busy& busy : terms) {
        if (busy.links.empty()) {
            sets = std::max({sets, busy.term.cuts.size(), std::size_t{1}});
        } else if (std::find(separate.begin(), separate.end(), busy.links) == separate.end()) {
            separate.push_back(busy.links);
        }
    }
    if (separate.empty() || sets + separate.size() == 1) return;
    for (Busy& busy : terms) {
        std::vector<Rational>& cuts = busy.term.cuts;
        if (busy.links.empty() && cuts.empty()) cuts.assign(sets, Rational(1));
        cuts.resize(sets + separate.size(), Rational(0));
        const auto own = std::find(separate.begin(), separate.end(), busy.links);
        if (own != separate.end()) cuts[sets + static_cast<std::size_t>(own - separate.begin())] = Rational(1);
    }
}

}  // namespace

Status price_network(Pricing& pricing, const Work& work, const System& system) {
    std::map<std::pair<std::size_t, std::string>, std::pair<LoadName, std::vector<Busy>>>
        resources;  // by tier and name
    std::map<std::pair<std::size_t, std::string>, WeightedSum>
        latencies;  // by message and resource, including the messages before it
    for (const MessageWork& each : work.messages) {
        ROOFLINE_TRY(auto load, load_of(each.message, system));
        for (const TierLoad& tier : load.tiers) {
            const auto rate = rate_of(tier, system);
            if (!rate) {
                note_unpublished(pricing, system, tier);
                continue;
            }
            const LoadName name = name_of(tier, system);
            Term term{name.id, each.message.bytes * each.count * Polynomial(tier.link_bytes), *rate};
            term.latency_s = tier.latency_s;
            term.count = each.count;
            term.sure = each.message.sure.to_double();
            WeightedSum& latency = latencies[{each.message.number, name.id}];
            if (each.message.follows != 0) term.waits = latencies[{each.message.follows, name.id}];
            latency = term.waits;
            latency.emplace_back(term.count, term.latency_s);
            for (const Rational& cut : tier.cuts) term.cuts.push_back(cut / tier.link_bytes);
            auto& resource = resources[{tier.tier, name.id}];
            resource.first = name;
            resource.second.push_back({std::move(term), links_text(tier, each.message, system)});
        }
    }
    for (auto& [place, resource] : resources) {
        auto& [name, terms] = resource;
        separate_terms(terms);
        Resource& made = resource_of(pricing, name);
        for (Busy& busy : terms) made.terms.push_back(std::move(busy.term));
    }
    return {};
}

std::optional<CollectiveTime> time_of(const CollectiveLoad& load, const System& system, double bytes) {
    CollectiveTime time;
    for (const TierLoad& tier : load.tiers) {
        const auto speed = speed_of(tier, system);
        if (!speed) return std::nullopt;
        const double transfer = bytes * tier.link_bytes.to_double() / *speed;
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

}  // namespace roofline::core
