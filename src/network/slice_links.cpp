#include "network/slice_links.hpp"

#include <algorithm>

namespace roofline::core {

LinkAxis::LinkAxis(const Slice& slice, std::size_t tier, std::size_t axis)
    : tier_(tier), size_(slice.tiers[tier].shape[axis]), ring_(slice.tiers[tier].wrapped[axis]) {
    const NetworkTier& network = slice.network(slice.tiers[tier]);
    line_ = has_axes(network);
    pairs_ = pairs_have_links(network);
    leaves_ = leaves_of(slice, tier);
    hop_s_ = network.hop_latency.value ? network.hop_latency.value->value : 0;
}

std::int64_t LinkAxis::distance(std::int64_t a, std::int64_t b) const {
    const std::int64_t straight = a < b ? b - a : a - b;
    if (!line_) return straight == 0 ? 0 : 1;
    return ring_ ? std::min(straight, size_ - straight) : straight;
}

std::int64_t LinkAxis::farthest(std::int64_t from) const {
    if (line_ && ring_) return size_ / 2;
    return std::max(distance(from, 0), distance(from, size_ - 1));
}

Part LinkAxis::part(std::int64_t first, std::int64_t last) const {
    const std::int64_t places = last - first + 1;
    if (places == size_) return {first, last};
    const int ends = (first > 0 ? 1 : 0) + (last + 1 < size_ ? 1 : 0);
    return {first, last, ring_ && size_ > 2 ? 2 : ends};
}

std::vector<Part> LinkAxis::parts_around(std::int64_t place) const {
    std::vector<Part> parts = {{0, size_ - 1}};
    if (size_ == 1) return parts;
    parts.push_back(part(place, place));
    if (line_ && !ring_ && parts.back().sides == 2) {
        parts.push_back(part(0, place));
        parts.push_back(part(place, size_ - 1));
    }
    if (const auto leaf = leaf_around(place)) parts.push_back(*leaf);
    return parts;
}

std::optional<Part> LinkAxis::leaf_around(std::int64_t place) const {
    if (!leaves_ || leaves_->members >= size_) return std::nullopt;
    const std::int64_t first = place / leaves_->members * leaves_->members;
    return Part{first, std::min(first + leaves_->members, size_) - 1, 0, true};
}

Rational LinkAxis::links(const Part& part, std::int64_t chips, std::int64_t all, bool whole_nodes) const {
    if (line_) return Rational(part.sides) * Rational(chips / part.places());
    const Rational ports = pairs_ ? Rational(chips) * Rational(all - chips) : Rational(std::min(chips, all - chips));
    return part.leaf && whole_nodes && leaves_->uplinks < ports ? leaves_->uplinks : ports;
}

SliceLinks::SliceLinks(const Slice& slice) : tiers_(slice.tiers.size()) {
    for (std::size_t tier = 0; tier < tiers_; ++tier) {
        for (std::size_t axis = 0; axis < slice.tiers[tier].shape.size(); ++axis) axes_.emplace_back(slice, tier, axis);
    }
}

std::vector<Part> SliceLinks::whole() const {
    std::vector<Part> box;
    for (const LinkAxis& axis : axes_) box.push_back({0, axis.size() - 1});
    return box;
}

std::vector<Rational> SliceLinks::around(const std::vector<Part>& box) const {
    std::int64_t chips = 1;
    for (const Part& part : box) chips *= part.places();
    std::vector<Rational> links(tiers_, Rational(0));
    std::int64_t inside = 1;      // chips of the box on this axis and inside of it
    std::int64_t all_inside = 1;  // all chips there
    for (std::size_t i = 0; i < axes_.size(); ++i) {
        const bool whole_nodes = inside == all_inside;
        inside *= box[i].places();
        all_inside *= axes_[i].size();
        links[axes_[i].tier()] += axes_[i].links(box[i], inside, all_inside, whole_nodes) * Rational(chips / inside);
    }
    return links;
}

Hops SliceLinks::path(const Chip& from, const Chip* to) const {
    Hops way;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
        const LinkAxis& axis = axes_[i];
        const std::int64_t hops = to == nullptr ? axis.farthest(from.at[i]) : axis.distance(from.at[i], to->at[i]);
        const Hops along{hops, static_cast<double>(hops) * axis.hop_s()};
        if (axis.line()) {
            way = {way.hops + along.hops, way.latency_s + along.latency_s};
        } else if (to != nullptr && hops > 0) {
            way = along;
        } else {
            way = {std::max(way.hops, along.hops), std::max(way.latency_s, along.latency_s)};
        }
    }
    return way;
}

bool SliceLinks::next(std::vector<std::size_t>& choice, const std::vector<std::vector<Part>>& parts) {
    for (std::size_t i = 0; i < choice.size(); ++i) {
        if (++choice[i] < parts[i].size()) return true;
        choice[i] = 0;
    }
    return false;
}

namespace {

// `a` requires at least as much over at most as many links.
bool implies(const TransferCut& a, const TransferCut& b) {
    if (a.bytes < b.bytes) return false;
    for (std::size_t i = 0; i < a.links.size(); ++i) {
        if (b.links[i] < a.links[i]) return false;
    }
    return true;
}

}  // namespace

void add_cut(std::vector<TransferCut>& cuts, TransferCut cut) {
    for (const TransferCut& other : cuts) {
        if (implies(other, cut)) return;
    }
    cuts.erase(std::remove_if(cuts.begin(), cuts.end(), [&](const TransferCut& other) { return implies(cut, other); }),
               cuts.end());
    cuts.push_back(std::move(cut));
}

}  // namespace roofline::core
