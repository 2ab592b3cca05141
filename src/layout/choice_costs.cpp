#include "layout/choice_costs.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

#include "bound/network_pricing.hpp"

namespace roofline {

namespace {

// Sums of the same times in another order differ in their last bits, so the last 22 of 52 are rounded away.
std::uint64_t rounded(double value) {
    constexpr int dropped = 22;
    return (std::bit_cast<std::uint64_t>(value) + (std::uint64_t{1} << (dropped - 1))) >> dropped;
}

}  // namespace

std::weak_ordering LayoutPrice::operator<=>(const LayoutPrice& other) const {
    const auto key = [](const LayoutPrice& price) {
        return std::tuple(rounded(price.lower_s), rounded(price.upper_s), rounded(price.collectives),
                          rounded(price.bytes));
    };
    return key(*this) <=> key(other);
}

LayoutPrice& LayoutPrice::operator+=(const LayoutPrice& other) {
    lower_s += other.lower_s;
    upper_s += other.upper_s;
    collectives += other.collectives;
    bytes += other.bytes;
    return *this;
}

ChoiceCosts::ChoiceCosts(const System& system) : system_(&system), loads_(kinds * 256) {
    for (const SliceTier& tier : system.slice.tiers) {
        first_slot_.push_back(network_slots_);
        network_slots_ += has_axes(system.slice.network(tier)) ? (std::size_t{1} << tier.shape.size()) - 1 : 1;
    }
    latencies_ = system.slice.tiers.size();
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
    for (std::size_t i = sums; i < sums + latencies_; ++i) to[i] = std::max(to[i], count * more[i]);
    for (std::size_t i = sums + latencies_; i < to.size(); ++i) to[i] += count * more[i];
}

void ChoiceCosts::add_time(std::span<double> to, std::size_t slot, double seconds) const {
    to[slot] += seconds;
    to[to.size() - 3] += seconds;
}

void ChoiceCosts::add_collective(std::span<double> to, CollectiveKind kind, AxisMask axes, double bytes) {
    double in_turn = 0;
    for (const TierCost& tier : loads(kind, axes).tiers) {
        for (const auto& [slot, seconds] : tier.seconds_per_byte) to[slot] += bytes * seconds;
        double& latency = to[sums() + tier.latency_slot];
        latency = std::max(latency, tier.latency_s);
        in_turn += bytes * tier.link + tier.latency_s;
    }
    to[to.size() - 3] += in_turn;
    to[to.size() - 2] += 1;
    to[to.size() - 1] += bytes;
}

LayoutPrice ChoiceCosts::price(std::span<const double> cost) const {
    const auto bounds = cost.first(cost.size() - 3);
    return {*std::max_element(bounds.begin(), bounds.end()), cost[cost.size() - 3], cost[cost.size() - 2],
            cost[cost.size() - 1]};
}

bool ChoiceCosts::no_worse(std::span<const double> a, std::span<const double> b) const {
    // From the end: where everything is added up, two costs differ most often.
    for (std::size_t i = a.size(); i-- > 0;) {
        if (a[i] > b[i] * (1 + 1e-12)) return false;
    }
    return true;
}

LayoutPrice ChoiceCosts::price(CollectiveKind kind, AxisMask axes, double bytes) const {
    LayoutPrice price{0, 0, 1, bytes};
    for (const TierCost& tier : loads(kind, axes).tiers) {
        const double transfer = bytes * tier.link;
        price.lower_s = std::max(price.lower_s, std::max(transfer, tier.latency_s));
        price.upper_s += transfer + tier.latency_s;
    }
    return price;
}

Status ChoiceCosts::loaded(CollectiveKind kind, AxisMask axes) {
    std::unique_ptr<Loads>& known = loads_[static_cast<std::size_t>(kind) * 256 + axes];
    if (!known) {
        known = std::make_unique<Loads>();
        auto load = load_of(Message{kind, axis_names(*system_, listed(axes)), {}, {}}, *system_);
        if (!load) {
            known->error = load.error();
            return fail(*known->error);
        }
        for (const TierLoad& tier : load->tiers) {
            const auto rate = rate_of(system_->slice.network(system_->slice.tiers[tier.tier]));
            if (!rate) continue;  // not in the bounds, and a note says so where the choice is priced
            TierCost cost{{}, tier.link_bytes.to_double() / rate->value, tier.tier, tier.latency_s};
            const std::size_t first = first_slot_[tier.tier];
            if (tier.cuts.empty()) cost.seconds_per_byte.emplace_back(first, cost.link);
            for (std::size_t cut = 0; cut < tier.cuts.size(); ++cut) {
                cost.seconds_per_byte.emplace_back(first + cut, tier.cuts[cut].to_double() / rate->value);
            }
            known->tiers.push_back(std::move(cost));
        }
    }
    if (known->error) return fail(*known->error);
    return {};
}

}  // namespace roofline
