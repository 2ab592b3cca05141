#include "layout/choice_costs.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "bound/network_pricing.hpp"
#include "network/torus_cuts.hpp"

namespace roofline::core {

LayoutPrice& LayoutPrice::operator+=(const LayoutPrice& other) {
    lower_s += other.lower_s;
    upper_s += other.upper_s;
    collectives += other.collectives;
    bytes += other.bytes;
    return *this;
}

std::uint64_t Route::hash() const {
    std::uint64_t hash = static_cast<std::uint64_t>(kind) << 8U | axes;
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to),
          std::uint64_t{std::bit_cast<std::uint32_t>(before)} << 32U | std::bit_cast<std::uint32_t>(after),
          static_cast<std::uint64_t>(hops)}) {
        hash = (hash ^ part) * 0x9E3779B97F4A7C15U;
        hash ^= hash >> 29;
    }
    return hash;
}

Message message_of(const Route& route, AxisList axes, const System& system) {
    Message message;
    message.kind = route.kind;
    message.axes = axis_names(system, route.before.empty() ? axes : route.before);
    message.from = mesh_place(system, route.from);
    message.to = mesh_place(system, route.to);
    message.axes_after = axis_names(system, route.after);
    message.hops = route.hops;
    return message;
}

ChoiceCosts::ChoiceCosts(const System& system, std::vector<std::int64_t> roots)
    : system_(&system), roots_(std::move(roots)), loads_(kinds * 256) {
    for (std::size_t i = 0; i < system.slice.tiers.size(); ++i) {
        const SliceTier& tier = system.slice.tiers[i];
        first_slot_.push_back(network_slots_);
        const bool torus = has_axes(system.slice.network(tier)) && !system.collectives.textbook;
        const std::size_t cuts = torus ? TorusCuts(tier, i, system.axes()).size() : 0;
        network_slots_ += std::max<std::size_t>(cuts, 1);
    }
    latencies_ = system.slice.tiers.size();
    root_slots_ = network_slots_;
    network_slots_ += 2 * roots_.size();
}

std::size_t ChoiceCosts::slot(std::string_view resource) {
    const auto known = std::find(resources_.begin(), resources_.end(), resource);
    const auto place = static_cast<std::size_t>(known - resources_.begin());
    if (known == resources_.end()) resources_.emplace_back(resource);
    return network_slots_ + place;
}

void ChoiceCosts::add(std::span<double> to, std::span<const double> more, double count) const {
    const std::size_t sums = this->sums();
    for (std::size_t i = 0; i < sums; ++i) to[i] += count * more[i];
    const std::size_t operands = sums + latencies_;
    const std::size_t results = operands + latencies_;
    for (std::size_t i = 0; i < latencies_; ++i) {
        double& latency = to[sums + i];
        latency = std::max(latency, count * more[sums + i]);
        if (more[operands + i] > 0) latency = std::max(latency, to[results + i] + count * more[operands + i]);
    }
    for (std::size_t i = results + latencies_; i < to.size(); ++i) to[i] += count * more[i];
}

void ChoiceCosts::note_operand(std::span<double> to, std::span<const double> leg) const {
    for (std::size_t i = 0; i < latencies_; ++i) {
        double& latency = to[sums() + latencies_ + i];
        latency = std::max(latency, leg[sums() + i]);
    }
}

void ChoiceCosts::note_result(std::span<double> to, std::span<const double> leg) const {
    for (std::size_t i = 0; i < latencies_; ++i) to[sums() + 2 * latencies_ + i] = leg[sums() + i];
}

void ChoiceCosts::keep_results(std::span<double> to, std::span<const double> added, double count, bool own,
                               bool others) const {
    for (std::size_t i = sums() + 2 * latencies_; i < sums() + 3 * latencies_; ++i) {
        to[i] = std::max(others ? to[i] : 0, own ? count * added[i] : 0);
    }
}

void ChoiceCosts::add_time(std::span<double> to, std::size_t slot, double seconds) const {
    to[slot] += seconds;
    to[to.size() - 3] += seconds;
}

void ChoiceCosts::take_back(std::span<double> from, const Route& route, double bytes, double count) const {
    double in_turn = 0;
    for (const TierCost& tier : loads(route).tiers) {
        for (const auto& [slot, seconds] : tier.seconds_per_byte) from[slot] -= count * bytes * seconds;
        in_turn += bytes * tier.link + tier.latency_s;
    }
    from[from.size() - 3] -= count * in_turn;
    from[from.size() - 2] -= count;
    from[from.size() - 1] -= count * bytes;
}

void ChoiceCosts::add_collective(std::span<double> to, const Route& route, double bytes) const {
    double in_turn = 0;
    for (const TierCost& tier : loads(route).tiers) {
        for (const auto& [slot, seconds] : tier.seconds_per_byte) to[slot] += bytes * seconds;
        double& latency = to[sums() + tier.latency_slot];
        latency = std::max({latency, tier.latency_s, tier.separate_links ? bytes * tier.link : 0});
        in_turn += bytes * tier.link + tier.latency_s;
    }
    to[to.size() - 3] += in_turn;
    to[to.size() - 2] += 1;
    to[to.size() - 1] += bytes;
}

void ChoiceCosts::add_next(std::span<double> to, const Route& route, double bytes) const {
    std::vector<double> cost(to.size(), 0.0);
    add_collective(cost, route, bytes);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += cost[i];
}

LayoutPrice ChoiceCosts::price(std::span<const double> cost) const {
    const auto bounds = cost.first(sums() + latencies_);
    return {*std::max_element(bounds.begin(), bounds.end()), cost[cost.size() - 3], cost[cost.size() - 2],
            cost[cost.size() - 1]};
}

bool ChoiceCosts::no_worse(std::span<const double> a, std::span<const double> b) const {
    // The comparison starts at the end because two costs differ most often in the totals there.
    for (std::size_t i = a.size(); i-- > 0;) {
        if (a[i] > b[i] * (1 + 1e-12)) return false;
    }
    return true;
}

LayoutPrice ChoiceCosts::price(const Loads& loads, double bytes) const {
    LayoutPrice price{0, 0, 1, bytes};
    for (const TierCost& tier : loads.tiers) {
        const double transfer = bytes * tier.link;
        price.lower_s = std::max(price.lower_s, std::max(transfer, tier.latency_s));
        price.upper_s += transfer + tier.latency_s;
    }
    return price;
}

Result<LayoutPrice> ChoiceCosts::loaded_price(const Route& route, double bytes) {
    const Loads& loads = loads_of(route);
    if (loads.error) return fail(*loads.error);
    return price(loads, bytes);
}

Status ChoiceCosts::loaded(const Route& route) {
    const Loads& loads = loads_of(route);
    if (loads.error) return fail(*loads.error);
    return {};
}

const ChoiceCosts::Loads& ChoiceCosts::loads_of(const Route& route) {
    if (!route.special()) {
        std::unique_ptr<Loads>& known = loads_[static_cast<std::size_t>(route.kind) * 256 + route.axes];
        if (!known) known = std::make_unique<Loads>(found(route));
        return *known;
    }
    const auto known = special_.find(route);
    return known != special_.end() ? known->second : special_.emplace(route, found(route)).first->second;
}

namespace {

/// A permute without the axes that it leaves in place; there are `fewer` times fewer parts, a power of two.
struct MovingAxes {
    Route route;
    std::int64_t fewer = 1;
};

// The product of the sizes of all axes behind this place.
std::int64_t stride(const System& system, AxisList axes, std::size_t place) {
    return chips_across(system, axes.from(place + 1));
}

// Different permutes of axes move the same parts between the same chips. An axis stays in place if equally many parts
// are behind it before and after. If an axis of equal size replaces each axis, their places do not matter.
MovingAxes moving_axes(const Route& route, const System& system) {
    MovingAxes moving{route};
    Route& least = moving.route;
    const auto size = [&](std::size_t axis) { return system.mesh[axis].size; };
    least.before = least.after = {};
    for (std::size_t i = 0; i < route.before.size(); ++i) {
        const std::size_t axis = route.before[i];
        std::size_t to = 0;
        while (to < route.after.size() && route.after[to] != axis) ++to;
        if (to == route.after.size() || stride(system, route.before, i) != stride(system, route.after, to) ||
            !std::has_single_bit(static_cast<std::uint64_t>(size(axis)))) {
            least.before.push_back(axis);
        } else {
            moving.fewer *= size(axis);
        }
    }
    least.axes = least.before.mask();
    for (std::size_t i = 0; i < route.after.size(); ++i) {
        if ((unsigned{least.axes} >> route.after[i] & 1U) != 0) least.after.push_back(route.after[i]);
    }
    std::array<std::size_t, max_mesh_axes> sources{};
    bool alike = true;
    for (std::size_t i = 0; i < least.before.size(); ++i) {
        sources[least.before[i]] = least.after[i];
        alike = alike && size(least.before[i]) == size(least.after[i]);
    }
    if (!alike) return moving;
    least.before = listed(least.axes);
    least.after = {};
    for (std::size_t i = 0; i < least.before.size(); ++i) least.after.push_back(sources[least.before[i]]);
    return moving;
}

}  // namespace

ChoiceCosts::Loads ChoiceCosts::found(const Route& route) {
    Loads loads;
    if (route.kind == CollectiveKind::permute && route.hops == 0 && knows_targets(*system_)) {
        const MovingAxes moving = moving_axes(route, *system_);
        if (!(moving.route == route)) {
            loads = loads_of(moving.route);
            for (TierCost& tier : loads.tiers) tier.link /= static_cast<double>(moving.fewer);
            return loads;
        }
    }
    const auto load = load_of_route(route);
    if (!load) {
        loads.error = load.error();
        return loads;
    }
    for (const TierLoad& tier : load->tiers) {
        // A tier without a rate is not in the bounds; a note says so where the chosen layout is priced.
        if (const auto rate = rate_of(tier, *system_)) loads.tiers.push_back(cost_of(tier, route, rate->value));
    }
    return loads;
}

Result<CollectiveLoad> ChoiceCosts::load_of_route(const Route& route) {
    const Message message = message_of(route, listed(route.axes), *system_);
    if (permutes_ == nullptr || route.kind != CollectiveKind::permute) return load_of(message, *system_);
    auto key = KnownPermutes::key(route, *system_);
    if (const CollectiveLoad* const known = permutes_->find(key)) return *known;
    ROOFLINE_TRY(auto load, load_of(message, *system_));
    permutes_->add(std::move(key), load);
    return load;
}

ChoiceCosts::TierCost ChoiceCosts::cost_of(const TierLoad& load, const Route& route, double rate) const {
    TierCost cost{{}, load.link_bytes.to_double() / rate, load.tier, load.latency_s, false};
    if (load.over != LoadedLinks::all && !shares_ports(load, route.kind, *system_)) {
        const bool into = load.over == LoadedLinks::receiver;
        const auto root = std::find(roots_.begin(), roots_.end(), into ? route.to : route.from);
        cost.separate_links = load.over == LoadedLinks::between || root == roots_.end();
        const std::size_t slot = root_slots_ + 2 * static_cast<std::size_t>(root - roots_.begin()) + (into ? 1 : 0);
        if (!cost.separate_links) cost.seconds_per_byte.emplace_back(slot, cost.link);
        return cost;
    }
    const std::size_t first = first_slot_[load.tier];
    if (load.cuts.empty()) cost.seconds_per_byte.emplace_back(first, cost.link);
    for (std::size_t cut = 0; cut < load.cuts.size(); ++cut) {
        cost.seconds_per_byte.emplace_back(first + cut, load.cuts[cut].to_double() / rate);
    }
    return cost;
}

}  // namespace roofline::core
