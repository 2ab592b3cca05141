#include "plan/axis_orders.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "network/slices_test.hpp"
#include "plan/plan_space.hpp"

using namespace roofline::core;

namespace {

// The members of each axis on each tier and axis of a torus.
using Members = std::map<std::string, std::map<std::pair<std::size_t, std::size_t>, std::int64_t>>;

Members members_of(const Slice& slice, const std::vector<MeshAxis>& mesh, bool experts_with_data) {
    const auto placed = place_mesh(slice, mesh, MeshOrder::innermost_first);
    REQUIRE_MESSAGE(placed.has_value(), to_text(placed.error()));
    Members members;
    for (const PlacedAxis& axis : *placed) {
        const std::string name = experts_with_data && axis.name == "expert" ? "data" : axis.name;
        for (const Lane& lane : axis.lanes) {
            std::int64_t& there = members[name].try_emplace({lane.tier, lane.axis}, 1).first->second;
            there *= lane.size;
        }
    }
    return members;
}

// Returns the placements of a plan in its orders, each of which must be another.
std::set<Members> placements(const Slice& slice, AxisOrders& orders, Plan plan) {
    const std::vector<AxisOrder> all = orders.of(plan);
    CHECK(orders.count(plan) == std::ssize(all));
    CHECK(all.front().empty());
    std::set<Members> different;
    for (const AxisOrder& order : all) {
        plan.links = order;
        CHECK(parse_plan({mesh_option(plan)}, plan.chips())->links == order);
        CHECK(different.insert(members_of(slice, mesh_of(plan), plan.experts_over_tensor)).second);
    }
    return different;
}

// Returns the placements of all permutations of a plan's axes.
std::set<Members> of_permutations(const Slice& slice, const Plan& plan) {
    std::vector<MeshAxis> mesh = mesh_of(plan);
    std::sort(mesh.begin(), mesh.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    std::set<Members> all;
    do {
        all.insert(members_of(slice, mesh, plan.experts_over_tensor));
    } while (
        std::next_permutation(mesh.begin(), mesh.end(), [](const auto& a, const auto& b) { return a.name < b.name; }));
    return all;
}

PlanSpace dense_space(std::int64_t chips) {
    PlanSpace space;
    space.chips = chips;
    space.layers = 64;
    space.sequence = 4096;
    space.sequences = 64 * 81;
    space.heads = 64;
    space.zero = {0};
    return space;
}

}  // namespace

TEST_CASE("on switched tiers the orders are those of all permutations that place an axis elsewhere, each once") {
    for (const auto& [machine, shape] :
         {std::pair("h100-sxm", "8x4"), std::pair("h100-sxm", "4x2"), std::pair("gb200", "72x2")}) {
        const auto slice = std::make_shared<Slice>(catalogue_slice(machine, shape));
        CAPTURE(shape);
        AxisOrders orders(slice);
        PlanSpace space = dense_space(slice->chips());
        if (slice->chips() > 64) space.without = {"context", "sequence"};
        std::size_t plans = 0;
        std::size_t all = 0;
        for_each_plan(space, [&](const Plan& plan) {
            const std::set<Members> found = placements(*slice, orders, plan);
            CHECK(found == of_permutations(*slice, plan));
            all += found.size();
            ++plans;
        });
        CHECK(plans > 20);
        CHECK(all > plans);
    }
}

TEST_CASE("on one flat tier there is one order") {
    const auto slice = std::make_shared<Slice>(catalogue_slice("h100-sxm", "8"));
    AxisOrders orders(slice);
    for_each_plan(dense_space(8), [&](const Plan& plan) { CHECK(orders.count(plan) == 1); });
    CHECK(AxisOrders(nullptr).of(Plan{.tensor = 64}) == std::vector<AxisOrder>{{}});
}

TEST_CASE("on a torus axes take every choice of whole axes; equal ones stand for one another") {
    const auto orders_on = [](const char* machine, const char* shape, const Plan& plan) {
        const auto slice = std::make_shared<Slice>(catalogue_slice(machine, shape));
        AxisOrders orders(slice);
        return placements(*slice, orders, plan).size();
    };
    // 16 on one axis or on the two of 4; 16 on what is left
    CHECK(orders_on("tpu-v5p", "4x4x16", Plan{.fsdp = 16, .tensor = 16}) == 2);
    CHECK(orders_on("tpu-v5p", "4x4x4", Plan{.fsdp = 16, .tensor = 4}) == 1);
    // 4 of 8 on any axis, the rest has 16: of equal axes, one
    CHECK(orders_on("tpu-v5p", "8x8x8", Plan{.fsdp = 128, .tensor = 4}) == 1);
    // 4 leave 4 of an axis of 16, which are as good as a whole axis
    CHECK(orders_on("tpu-v5e", "16x16", Plan{.data = 16, .fsdp = 4, .tensor = 4}) == 1);
    CHECK(orders_on("tpu-v5e", "4x8", Plan{.fsdp = 8, .tensor = 4}) == 1);
}

TEST_CASE("experts over tensor lie on the chips of data, so that the two stay together") {
    const auto slice = std::make_shared<Slice>(catalogue_slice("h100-sxm", "8x4"));
    AxisOrders orders(slice);
    const Plan plan{.data = 2, .tensor = 4, .expert = 4, .experts_over_tensor = true};
    // data and experts, 8, are outside of tensor or inside
    REQUIRE(orders.count(plan) == 2);
    const AxisOrder inside = orders.of(plan).back();
    CHECK(inside == AxisOrder{{"expert", {"nvlink"}}, {"data", {"nvlink"}}, {"tensor", {"ib"}}});
    // with fsdp in between the usual order is not one of those in which they stay together
    const Plan apart{.data = 2, .fsdp = 2, .tensor = 2, .expert = 4, .experts_over_tensor = true};
    placements(*slice, orders, apart);
}

TEST_CASE("axes that are placed stay where they are") {
    const auto slice = std::make_shared<Slice>(catalogue_slice("h100-sxm", "8x4"));
    AxisOrders orders(slice, {{"tensor", {"ib"}}});
    const Plan plan{.data = 2, .fsdp = 4, .tensor = 4};
    CHECK(orders.of(plan) == std::vector<AxisOrder>{{{"tensor", {"ib"}}}});
    AxisOrders others(slice, {{"tensor", {"nvlink"}}});
    // the other two lie in either order on the rest of the node, and beyond it
    CHECK(others.of(plan) == std::vector<AxisOrder>{{{"tensor", {"nvlink"}}},
                                                    {{"tensor", {"nvlink"}}, {"data", {"nvlink"}}, {"fsdp", {"ib"}}}});
    CHECK(others.count(plan) == 2);
    // what does not fit there is refused when it is priced
    CHECK(AxisOrders(slice, {{"tensor", {"pcie"}}}).count(plan) == 1);
}
