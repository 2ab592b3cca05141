#include "plan/axis_orders.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace roofline::core {

namespace {

bool has_axis(const AxisOrder& order, std::string_view axis) {
    return std::any_of(order.begin(), order.end(), [&](const AxisLinks& each) { return each.axis == axis; });
}

std::int64_t left_in_all(const Placing& placing) {
    std::int64_t links = 0;
    for (const TakenLink& link : placing.links()) links += link.left() > 1 ? 1 : 0;
    return links;
}

}  // namespace

/// Places one axis after another in every order. What is placed already decides what is left, so that each state is
/// gone on from once.
struct AxisOrders::Search {
    const AxisOrders& orders;
    const std::vector<FreeAxis>& axes;
    std::vector<Way> found{};
    std::set<Members> seen{};

    void go_on(const Placing& placing, const Way& way) {
        Members members = way.members;
        orders.sort_alike(members);
        if (!seen.insert(members).second) return;
        if (way.steps.size() == axes.size()) {
            found.push_back({way.steps, std::move(members)});
            return;
        }
        for (std::size_t axis = 0; axis < axes.size(); ++axis) {
            const auto is_axis = [&](const Step& step) { return step.axis == axis; };
            if (std::any_of(way.steps.begin(), way.steps.end(), is_axis)) continue;
            for (const std::vector<Lane>& lanes : placing.ways(axes[axis].size)) {
                Placing then = placing;
                then.take(lanes);
                Way longer = way;
                longer.steps.push_back({axis, lanes});
                orders.add(longer.members, axis, lanes);
                go_on(then, longer);
            }
            if (left_in_all(placing) == 1) return;  // any order of the others is the same
        }
    }
};

AxisOrders::AxisOrders(std::shared_ptr<const Slice> slice, AxisOrder placed)
    : slice_(std::move(slice)), placed_(std::move(placed)) {
    if (!slice_) return;
    links_ = Placing(*slice_).links();
    for (const TakenLink& link : links_) names_.push_back(Placing::name_of(*slice_, link.tier, link.axis));
    const auto told = [&](std::size_t i) {  // a link that is named is not like others
        return std::any_of(placed_.begin(), placed_.end(), [&](const AxisLinks& each) {
            return std::any_of(each.links.begin(), each.links.end(),
                               [&](const std::string& link) { return names_[i].starts_with(link); });
        });
    };
    std::map<std::tuple<std::size_t, std::int64_t, bool, bool>, std::vector<std::size_t>> kinds;
    for (std::size_t i = 0; i < links_.size(); ++i) {
        kinds[{links_[i].tier, links_[i].size, links_[i].wrapped, told(i)}].push_back(i);
    }
    for (const auto& [kind, links] : kinds) {
        if (links.size() > 1 && !std::get<3>(kind)) alike_.push_back(links);
    }
}

std::size_t AxisOrders::place_of(const Lane& lane) const {
    std::size_t place = 0;
    while (links_[place].tier != lane.tier || links_[place].axis != lane.axis) ++place;
    return place;
}

void AxisOrders::add(Members& members, std::size_t axis, const std::vector<Lane>& lanes) const {
    for (const Lane& lane : lanes) members[axis * links_.size() + place_of(lane)] *= lane.size;
}

// Links that stand for one another are put in the order of what lies on them.
void AxisOrders::sort_alike(Members& members) const {
    const std::size_t axes = links_.empty() ? 0 : members.size() / links_.size();
    for (const std::vector<std::size_t>& links : alike_) {
        std::vector<Members> columns;
        for (const std::size_t link : links) {
            Members& column = columns.emplace_back();
            for (std::size_t axis = 0; axis < axes; ++axis) column.push_back(members[axis * links_.size() + link]);
        }
        std::sort(columns.begin(), columns.end(), std::greater<>());
        for (std::size_t i = 0; i < links.size(); ++i) {
            for (std::size_t axis = 0; axis < axes; ++axis) members[axis * links_.size() + links[i]] = columns[i][axis];
        }
    }
}

// Returns nothing if the axes that are placed do not suit the slice.
std::optional<AxisOrders::FreeAxes> AxisOrders::free_axes(const Plan& plan) const {
    FreeAxes free{{}, Placing(*slice_), {}};
    Plan together = plan;
    if (plan.experts_over_tensor) {
        together.data *= plan.expert;
        together.expert = 1;
    }
    for (const AxisLinks& each : placed_) {
        if (plan.experts_over_tensor && each.axis == "data" && plan.expert > 1) {
            free.placed.push_back({"expert", each.links});
        }
        free.placed.push_back(each);
    }
    together.links = free.placed;
    for (const MeshAxis& axis : mesh_of(together)) {
        if (!axis.links.empty() && !free.start.place_on(*slice_, axis)) return std::nullopt;
    }
    std::size_t rank = 0;
    for (const auto& [name, size] : plan_axes(together)) {
        if (size > 1 && !has_axis(placed_, name)) free.axes.push_back({size, rank, name});
        ++rank;
    }
    std::sort(free.axes.begin(), free.axes.end(),
              [](const auto& a, const auto& b) { return std::tuple(a.size, a.rank) < std::tuple(b.size, b.rank); });
    return free;
}

const std::vector<AxisOrders::Way>& AxisOrders::ways(const FreeAxes& free) {
    std::vector<std::int64_t> sizes;
    for (const FreeAxis& axis : free.axes) sizes.push_back(axis.size);
    const auto [known, fresh] = known_.try_emplace(std::move(sizes));
    if (!fresh) return known->second;
    Search search{*this, free.axes};
    search.go_on(free.start, {{}, Members(free.axes.size() * links_.size(), 1)});
    return known->second = std::move(search.found);
}

// Returns what the axes have in the usual order; empty if they cannot be placed in it.
AxisOrders::Members AxisOrders::usual(const FreeAxes& free, const Plan& plan) const {
    Members members(free.axes.size() * links_.size(), 1);
    Placing placing = free.start;
    for (const auto& [name, size] : plan_axes(plan)) {
        if (size == 1 || has_axis(free.placed, name)) continue;
        const std::vector<Lane> lanes = placing.place(size, MeshOrder::innermost_first);
        if (lanes.empty()) return {};
        const std::string_view together = plan.experts_over_tensor && name == "expert" ? "data" : name;
        const auto axis = std::find_if(free.axes.begin(), free.axes.end(),
                                       [&](const FreeAxis& each) { return each.name == together; });
        add(members, static_cast<std::size_t>(axis - free.axes.begin()), lanes);
    }
    sort_alike(members);
    return members;
}

// Axes on inner links come first. Where axes share a link, those that are usually inside lie inside if the same
// placement follows.
AxisOrder AxisOrders::order_of(const FreeAxes& free, Way way) const {
    std::vector<Step> steps = way.steps;
    std::sort(steps.begin(), steps.end(), [&](const Step& a, const Step& b) {
        return std::pair(place_of(a.lanes.front()), free.axes[a.axis].rank) <
               std::pair(place_of(b.lanes.front()), free.axes[b.axis].rank);
    });
    std::vector<std::int64_t> left;
    for (const TakenLink& link : free.start.links()) left.push_back(link.left());
    const bool same = std::all_of(steps.begin(), steps.end(), [&](const Step& step) {
        std::int64_t size = free.axes[step.axis].size;
        return std::all_of(step.lanes.begin(), step.lanes.end(), [&](const Lane& lane) {
            std::int64_t& rest = left[place_of(lane)];
            const bool taken = std::gcd(size, rest) == lane.size;
            size /= lane.size;
            rest /= lane.size;
            return taken;
        });
    });
    if (same) way.steps = std::move(steps);
    AxisOrder order = free.placed;
    for (const Step& step : way.steps) {
        AxisLinks links{std::string(free.axes[step.axis].name), {}};
        for (const Lane& lane : step.lanes) links.links.push_back(names_[place_of(lane)]);
        order.push_back(std::move(links));
    }
    return order;
}

std::int64_t AxisOrders::count(const Plan& plan) {
    const auto free = slice_ ? free_axes(plan) : std::nullopt;
    if (!free) return 1;
    const std::vector<Way>& all = ways(*free);
    const Members first = usual(*free, plan);
    const bool known = std::any_of(all.begin(), all.end(), [&](const Way& way) { return way.members == first; });
    return std::ssize(all) + (known ? 0 : 1);
}

std::vector<AxisOrder> AxisOrders::of(const Plan& plan) {
    const auto free = slice_ ? free_axes(plan) : std::nullopt;
    if (!free) return {placed_};
    std::vector<AxisOrder> orders{free->placed};
    const Members first = usual(*free, plan);
    for (const Way& way : ways(*free)) {
        if (way.members == first) continue;
        AxisOrder order = order_of(*free, way);
        const auto data =
            std::find_if(order.begin(), order.end(), [](const AxisLinks& each) { return each.axis == "data"; });
        if (plan.experts_over_tensor && plan.expert > 1 && !has_axis(order, "expert")) {
            AxisLinks expert{"expert", data->links};
            order.insert(data, std::move(expert));
        }
        orders.push_back(std::move(order));
    }
    return orders;
}

}  // namespace roofline::core
