// Makes the request for the expected time of a collective from its load on a slice; the sizes of a request.
#include <ranges>
#include <string>
#include <utility>

#include "bound/network_pricing.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "units/text.hpp"

namespace roofline::core {

bool same_wiring(std::string_view topology, std::string_view other) {
    constexpr std::string_view torus = "torus";  // "torus2d", "torus3d"
    return topology == other || (topology.starts_with(torus) && other.starts_with(torus));
}

std::string dtypes_of(CollectiveKind kind, const std::optional<Dtype>& dtype) {
    if (!info(kind).sums()) return "";
    return dtype && info(*dtype).kind == DtypeKind::integer ? "integer" : "float";
}

namespace {

/// The same collective among the chips inside the outermost tier, each of which holds as much. In an all-to-all they
/// then exchange all that they have, instead of the part that stays there.
std::optional<CollectiveRequest> request_inside(const CollectiveLoad& load, const System& system, double bytes) {
    const std::int64_t outer = load.tiers.back().members;
    CollectiveLoad inner = load;
    inner.members /= outer;
    inner.tiers.pop_back();
    if (!info(load.kind).size_of_member()) return request_for(inner, system, bytes);
    const auto is_torus = [&](const TierLoad& tier) {
        return has_axes(system.slice.network(system.slice.tiers[tier.tier]));
    };
    if (is_torus(load.tiers.back())) return std::nullopt;
    // of a chip's array only the part for chips of its node stays there, unless others forward it
    bool straight = true;
    for (TierLoad& tier : std::views::reverse(inner.tiers)) {
        tier.two_phase_bytes *= straight ? Rational(outer) * Rational(outer) : Rational(outer);
        straight = straight && !is_torus(tier);
    }
    return request_for(inner, system, bytes / static_cast<double>(outer));
}

/// The rate of a tier without what-ifs, to the digits of their texts.
double listed_rate(const Machine& machine, const NetworkTier& network, double rate) {
    const std::string path = network.id + ".bandwidth";
    const Change* first = nullptr;
    const Change* last = nullptr;
    for (const Change& change : machine.changes) {
        if (change.path != path) continue;
        if (first == nullptr) first = &change;
        last = &change;
    }
    if (first == nullptr) return rate;
    const auto before = parse_quantity<Bandwidth>(first->before);
    return before && last->number > 0 ? rate * before->value / last->number : rate;
}

}  // namespace

std::optional<CollectiveRequest> request_for(const CollectiveLoad& load, const System& system, double bytes) {
    const auto point = collective_point(load, system, bytes);
    if (!point) return std::nullopt;
    CollectiveRequest request;
    request.machine = system.machine().id;
    request.kind = load.kind;
    request.point = *point;
    if (info(load.kind).ends == Ends::all && load.tiers.size() > 1) {
        if (auto inside = request_inside(load, system, bytes)) request.inside = {std::move(*inside)};
    }
    const auto add = [&](const NetworkTier& network, std::string& tiers, CollectiveLink& link) {
        const auto rate = rate_of(network);
        if (tiers.empty()) {
            const double listed = rate ? listed_rate(system.machine(), network, rate->value) : 0;
            link = {network.topology, network.domain, listed};
            if (rate && rate->what_if && &link == &request.link) request.changed_rate = rate->value;
        }
        tiers += (tiers.empty() ? "" : "+") + network.id;
    };
    for (const TierLoad& tier : load.tiers) {
        add(system.slice.network(system.slice.tiers[tier.tier]), request.tiers, request.link);
    }
    const std::size_t first = system.slice.tiers[load.tiers.front().tier].tier;
    for (std::size_t tier = 0; tier < first; ++tier) {
        const NetworkTier& network = system.machine().network[tier];
        if (joins_chips(network)) add(network, request.inner_tiers, request.inner_link);
    }
    return request;
}

}  // namespace roofline::core
