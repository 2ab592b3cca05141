#include "layout/known_permutes.hpp"

#include <utility>

#include "layout/choice_costs.hpp"

namespace roofline::core {

std::vector<std::int64_t> KnownPermutes::key(const Route& route, const System& system) {
    std::vector<std::int64_t> key{route.hops};
    for (const AxisList& order : {route.before, route.after}) {
        key.push_back(static_cast<std::int64_t>(order.size()));
        for (std::size_t i = 0; i < order.size(); ++i) {
            const PlacedAxis& axis = system.mesh[order[i]];
            key.push_back(static_cast<std::int64_t>(axis.lanes.size()));
            for (const Lane& lane : axis.lanes) {
                for (const std::int64_t each : {static_cast<std::int64_t>(lane.tier),
                                                static_cast<std::int64_t>(lane.axis), lane.size, lane.stride}) {
                    key.push_back(each);
                }
            }
        }
    }
    return key;
}

const CollectiveLoad* KnownPermutes::find(const std::vector<std::int64_t>& key) const {
    const auto known = loads_.find(key);
    return known == loads_.end() ? nullptr : &known->second;
}

void KnownPermutes::add(std::vector<std::int64_t> key, CollectiveLoad load) {
    loads_.emplace(std::move(key), std::move(load));
}

}  // namespace roofline::core
