#include "predict/plan/collective_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bound/network_pricing.hpp"
#include "plan/pipeline_stage.hpp"

namespace roofline::core {

namespace {

constexpr double many = 1e18;  // bytes whose transfer takes longer than any latency
// Plans on the same mesh follow one another, so that few placements are needed at a time; each has a slice of its own.
constexpr std::size_t most_placements = 64;
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
    if (!expected) return lower_s(bytes);
    CollectivePoint point = point_per_byte;
    for (double* const part : {&point.buffer_bytes, &point.wire_s, &point.buffer_s}) *part *= bytes;
    return std::max(seconds_of(*expected, point), lower_s(bytes));
}

CollectiveCosts::CollectiveCosts(Slice slice, CollectiveOptions options, std::shared_ptr<Calibrations> calibrations,
                                 std::string software)
    : slice_(std::move(slice)),
      options_(options),
      calibrations_(std::move(calibrations)),
      software_(std::move(software)) {
    torus_ = std::any_of(slice_.tiers.begin(), slice_.tiers.end(),
                         [&](const SliceTier& tier) { return has_axes(slice_.network(tier)); });
}

Result<std::size_t> CollectiveCosts::placement(const std::vector<MeshAxis>& mesh) {
    std::vector<std::tuple<std::string, std::int64_t, std::vector<std::string>>> key;
    for (const MeshAxis& axis : mesh) key.emplace_back(axis.name, axis.size, axis.links);
    const auto known = placements_.find(key);
    if (known != placements_.end()) return known->second;
    if (systems_.size() >= most_placements) {
        placements_.clear();
        systems_.clear();
        by_placement_.clear();
        if (by_links_.size() > most_costs) by_links_.clear();
    }
    auto system = std::make_unique<System>();
    system->slice = slice_;
    system->collectives = options_;
    if (!mesh.empty()) {
        ROOFLINE_TRY(system->mesh, place_mesh(slice_, mesh, MeshOrder::innermost_first));
    }
    systems_.push_back(std::move(system));
    by_placement_.emplace_back();
    return placements_[std::move(key)] = systems_.size() - 1;
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

std::string CollectiveCosts::links_of(const Message& message, const System& system) const {
    std::string text;
    for (const PlacedAxis& axis : system.mesh) {
        if (torus_ || has(message.axes, axis.name)) text += lanes_text(axis) + ";";
    }
    return text;
}

const CollectiveCost* CollectiveCosts::cost(std::size_t route, std::size_t placement) {
    auto& known = by_placement_[placement];
    if (known.size() <= route) known.resize(routes_.size());
    if (!known[route]) {
        const auto& [message, dtype] = routes_[route];
        const auto [place, fresh] =
            by_links_.try_emplace({route, links_of(message, *systems_[placement])}, std::nullopt);
        if (fresh) place->second = compute(message, dtype, *systems_[placement]);
        known[route] = place->second ? &*place->second : nullptr;
    }
    return *known[route];
}

std::optional<CollectiveCost> CollectiveCosts::compute(const Message& message, const std::optional<Dtype>& dtype,
                                                       const System& system) const {
    const auto load = load_of(message, system);
    if (!load) return std::nullopt;
    const auto latency = time_of(*load, system, 0);
    const auto transfer = time_of(*load, system, many);
    if (!latency || !transfer) return std::nullopt;
    CollectiveCost cost{transfer->lower_s / many, latency->lower_s};
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
    return cost;
}

double CollectiveCosts::send_s(std::size_t placement, double bytes) {
    const System& system = *systems_[placement];
    const PlacedAxis* axis = system.axis("pipeline");
    if (axis == nullptr) return 0;
    const auto [place, fresh] = sends_.try_emplace(lanes_text(*axis), std::nullopt);
    if (fresh) {
        const auto latency = stage_transfer_s(system, 0);
        const auto transfer = stage_transfer_s(system, many);
        if (latency && transfer) place->second = {*transfer / many, *latency};
    }
    return place->second ? std::max(place->second->first * bytes, place->second->second) : 0;
}

}  // namespace roofline::core
