#include "predict/plan/collective_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bound/network_pricing.hpp"
#include "plan/pipeline_stage.hpp"

namespace roofline::core {

namespace {

constexpr double many = 1e18;                // bytes whose transfer takes longer than any latency
constexpr std::size_t most_placements = 64;  // plans on the same mesh follow one another, so that few are needed
constexpr std::size_t most_costs = 20'000;

std::string lanes_text(const PlacedAxis& axis) {
    std::string text = axis.name;
    for (const Lane& lane : axis.lanes) {
        text += fmt::format(" {}.{}:{}/{}{}", lane.tier, lane.axis, lane.size, lane.stride, lane.wrapped ? "o" : "");
    }
    return text;
}

}  // namespace

double CollectiveCost::lower_s(double bytes) const { return std::max(bytes * lower_s_per_byte, latency_s); }

double CollectiveCost::seconds(double bytes) const {
    if (!any_of.empty()) {
        double least = any_of.front()->seconds(bytes);
        for (const CollectiveCost* const each : any_of) {
            if (each->lower_s(bytes) < least) least = std::min(least, each->seconds(bytes));
        }
        return least;
    }
    if (!expected) return lower_s(bytes);
    CollectivePoint point = point_per_byte;
    for (double* const part : {&point.buffer_bytes, &point.wire_s, &point.buffer_s}) *part *= bytes;
    return std::max(seconds_of(*expected, point), lower_s(bytes));
}

CollectiveCosts::CollectiveCosts(Slice slice, CollectiveOptions options, std::shared_ptr<Calibrations> calibrations,
                                 std::string software)
    : system_{std::move(slice), {}, options}, calibrations_(std::move(calibrations)), software_(std::move(software)) {
    torus_ = std::any_of(system_.slice.tiers.begin(), system_.slice.tiers.end(),
                         [&](const SliceTier& tier) { return has_axes(system_.slice.network(tier)); });
}

Result<std::size_t> CollectiveCosts::placement(const std::vector<MeshAxis>& mesh) {
    std::vector<std::tuple<std::string, std::int64_t, std::vector<std::string>>> key;
    for (const MeshAxis& axis : mesh) key.emplace_back(axis.name, axis.size, axis.links);
    const auto known = numbers_.find(key);
    if (known != numbers_.end()) return known->second;
    Placement placement;
    if (!mesh.empty()) {
        ROOFLINE_TRY(placement.mesh, place_mesh(system_.slice, mesh, MeshOrder::innermost_first));
    }
    for (const PlacedAxis& axis : placement.mesh) {
        placement.lanes.push_back(lanes_.try_emplace(lanes_text(axis), lanes_.size()).first->second);
    }
    placements_.push_back(std::move(placement));
    return numbers_[std::move(key)] = first_ + placements_.size() - 1;
}

std::size_t CollectiveCosts::any_of(std::vector<std::size_t> placements) {
    placements_.emplace_back().any_of = std::move(placements);
    return first_ + placements_.size() - 1;
}

void CollectiveCosts::forget_many() {
    if (placements_.size() < most_placements) return;
    first_ += placements_.size();
    numbers_.clear();
    placements_.clear();
    of_several_.clear();
    if (by_links_.size() > most_costs) by_links_.clear();
}

const System* CollectiveCosts::system(std::size_t placement) {
    const Placement& known = placements_[placement - first_];
    if (!known.any_of.empty()) return nullptr;
    system_.mesh = known.mesh;
    return &system_;
}

std::size_t CollectiveCosts::route(const Message& message, std::optional<Dtype> dtype) {
    const auto same = [&](const std::pair<Message, std::optional<Dtype>>& each) {
        const Message& other = each.first;
        return each.second == dtype && other.kind == message.kind && other.axes == message.axes &&
               other.axes_after == message.axes_after && other.hops == message.hops && other.from == message.from &&
               other.to == message.to;
    };
    const auto known = std::find_if(routes_.begin(), routes_.end(), same);
    if (known != routes_.end()) return static_cast<std::size_t>(known - routes_.begin());
    routes_.emplace_back(message, dtype);
    return routes_.size() - 1;
}

std::vector<std::size_t> CollectiveCosts::links_of(const Message& message, const Placement& placement) const {
    std::vector<std::size_t> links;
    for (std::size_t i = 0; i < placement.mesh.size(); ++i) {
        if (torus_ || has(message.axes, placement.mesh[i].name)) links.push_back(placement.lanes[i]);
    }
    return links;
}

const CollectiveCost* CollectiveCosts::cost(std::size_t route, std::size_t placement) {
    Placement& where = placements_[placement - first_];
    if (where.costs.size() <= route) where.costs.resize(routes_.size());
    std::optional<const CollectiveCost*>& known = where.costs[route];
    if (known) return *known;
    if (!where.any_of.empty()) return *(known = cost_of_any(route, where.any_of));
    const auto& [message, dtype] = routes_[route];
    const auto [place, fresh] = by_links_.try_emplace({route, links_of(message, where)}, std::nullopt);
    if (fresh) place->second = compute(message, dtype, *system(placement));
    return *(known = place->second ? &*place->second : nullptr);
}

const CollectiveCost* CollectiveCosts::cost_of_any(std::size_t route, const std::vector<std::size_t>& placements) {
    CollectiveCost least;
    for (const std::size_t placement : placements) {
        const CollectiveCost* const each = cost(route, placement);
        if (each == nullptr) return nullptr;
        if (std::find(least.any_of.begin(), least.any_of.end(), each) != least.any_of.end()) continue;
        least.any_of.push_back(each);
        least.measured = least.measured || each->measured;
    }
    if (least.any_of.size() == 1) return least.any_of.front();
    std::sort(least.any_of.begin(), least.any_of.end(), [](const CollectiveCost* a, const CollectiveCost* b) {
        return a->lower_s_per_byte < b->lower_s_per_byte;  // most others are seen to be slower by their bound
    });
    return &of_several_.emplace_back(std::move(least));
}

std::optional<CollectiveCost> CollectiveCosts::compute(const Message& message, const std::optional<Dtype>& dtype,
                                                       const System& system) const {
    const auto load = load_of(message, system);
    if (!load) return std::nullopt;
    const auto latency = time_of(*load, system, 0);
    const auto transfer = time_of(*load, system, many);
    if (!latency || !transfer) return std::nullopt;
    CollectiveCost cost;
    cost.lower_s_per_byte = transfer->lower_s / many;
    cost.latency_s = latency->lower_s;
    // calibrated parameters refer to the actual traffic of the links
    System wires = system;
    wires.collectives = {};
    const auto actual = load_of(message, wires);
    if (!actual) return cost;
    const auto point = collective_point(*actual, wires, 1);
    auto request = request_for(*actual, wires, 1);
    if (!point || !request) return cost;
    if (!software_.empty()) request->software = software_;
    request->dtype = dtype;
    request->error = false;
    cost.point_per_byte = *point;
    cost.expected = calibrations_->expected(*request);
    cost.measured = cost.expected.has_value();
    return cost;
}

double CollectiveCosts::send_s(std::size_t placement, double bytes) {
    const Placement& where = placements_[placement - first_];
    if (!where.any_of.empty()) {
        double least = send_s(where.any_of.front(), bytes);
        for (const std::size_t each : where.any_of) least = std::min(least, send_s(each, bytes));
        return least;
    }
    const auto axis = std::find_if(where.mesh.begin(), where.mesh.end(),
                                   [](const PlacedAxis& each) { return each.name == "pipeline"; });
    if (axis == where.mesh.end()) return 0;
    const auto [place, fresh] =
        sends_.try_emplace(where.lanes[static_cast<std::size_t>(axis - where.mesh.begin())], std::nullopt);
    if (fresh) {
        const System& one = *system(placement);
        const auto latency = stage_transfer_s(one, 0);
        const auto transfer = stage_transfer_s(one, many);
        if (latency && transfer) place->second = {*transfer / many, *latency};
    }
    return place->second ? std::max(place->second->first * bytes, place->second->second) : 0;
}

}  // namespace roofline::core
