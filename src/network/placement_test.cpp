#include "network/placement.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <map>

#include "machine/catalogue.hpp"
#include "network/slices_test.hpp"

using namespace roofline::core;

namespace {

using Mesh = std::vector<MeshAxis>;

std::vector<PlacedAxis> placed(const Slice& on, const Mesh& mesh) {
    auto result = place_mesh(on, mesh);
    REQUIRE_MESSAGE(result.has_value(), to_text(result.error()));
    return *result;
}

// Returns the placement of each axis, one text per axis.
std::vector<std::string> places(std::string_view machine, std::string_view shape, const Mesh& mesh) {
    const Slice on = catalogue_slice(machine, shape);
    std::vector<std::string> texts;
    for (const PlacedAxis& axis : placed(on, mesh)) texts.push_back(place_text(on, axis));
    return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("network: a mesh axis takes a whole torus axis of its length") {
    CHECK(places("tpu-v5e", "4x4", {{"X", 4}, {"Y", 4}}) == Texts{"ici.0, unwrapped", "ici.1, unwrapped"});
    CHECK(places("tpu-v5e", "8x16", {{"X", 16}, {"Y", 8}}) == Texts{"ici.1, a ring", "ici.0, unwrapped"});
    CHECK(places("tpu-v5p", "4x4x8", {{"X", 8}, {"Y", 4}, {"Z", 4}}) ==
          Texts{"ici.2, a ring", "ici.0, a ring", "ici.1, a ring"});
    CHECK(places("h100-sxm", "8x16", {{"data", 16}, {"model", 8}}) == Texts{"ib", "nvlink"});
    CHECK(places("tpu-v5e", "16x16*2", {{"pod", 2}, {"X", 16}, {"Y", 16}}) ==
          Texts{"dcn", "ici.0, a ring", "ici.1, a ring"});
}

TEST_CASE("network: a mesh axis takes several whole torus axes") {
    CHECK(places("tpu-v5e", "4x4", {{"X", 16}}) == Texts{"ici.0, unwrapped; ici.1, unwrapped"});
    CHECK(places("tpu-v5p", "8x8x4", {{"X", 4}, {"Y", 64}}) == Texts{"ici.2, a ring", "ici.0, a ring; ici.1, a ring"});
    CHECK(places("tpu-v5p", "4x4x8", {{"X", 128}}) == Texts{"ici.0, a ring; ici.1, a ring; ici.2, a ring"});
    CHECK(places("tpu-v5p", "4x4x8", {{"Y", 32}, {"X", 4}}) == Texts{"ici.1, a ring; ici.2, a ring", "ici.0, a ring"});
}

TEST_CASE("network: parts of axes and of tiers") {
    // The inner four of a ring of 16 do not close; the four groups of them do, over the chips between.
    CHECK(places("tpu-v5e", "16x16", {{"X", 4}, {"Y", 4}, {"Z", 16}}) ==
          Texts{"ici.0 x 4 of 16, unwrapped", "ici.0 x 4 of 16, a ring", "ici.1, a ring"});
    CHECK(places("h100-sxm", "8x16", {{"X", 2}, {"Y", 4}, {"Z", 16}}) ==
          Texts{"nvlink x 2 of 8", "nvlink x 4 of 8", "ib"});
    CHECK(places("h100-sxm", "8x16", {{"X", 128}}) == Texts{"nvlink; ib"});
    CHECK(places("h100-sxm", "8x16", {{"X", 32}, {"Y", 4}}) == Texts{"nvlink; ib x 4 of 16", "ib x 4 of 16"});
    CHECK(places("tpu-v5e", "4x4", {{"X", 1}, {"Y", 16}}) == Texts{"one chip", "ici.0, unwrapped; ici.1, unwrapped"});
    CHECK(places("tpu-v5e", "1", {{"X", 1}}) == Texts{"one chip"});
    CHECK(places("tpu-v5e", "1", {}).empty());
}

TEST_CASE("network: in order from the innermost, an axis stays inside while it fits") {
    const auto places_in_order = [](std::string_view machine, std::string_view shape, const Mesh& mesh) {
        const Slice on = catalogue_slice(machine, shape);
        const auto placed_axes = place_mesh(on, mesh, MeshOrder::innermost_first);
        REQUIRE(placed_axes);
        std::vector<std::string> texts;
        for (const PlacedAxis& axis : *placed_axes) texts.push_back(place_text(on, axis));
        return texts;
    };
    // There are four nodes, and an axis of four that must not take them.
    const Mesh mesh{{"tensor", 4}, {"data", 8}};
    CHECK(places("h100-sxm", "8x4", mesh) == Texts{"ib", "nvlink"});
    CHECK(places_in_order("h100-sxm", "8x4", mesh) == Texts{"nvlink x 4 of 8", "nvlink x 2 of 8; ib"});
    // An axis longer than a node fills the node, although there are as many nodes as it has members.
    CHECK(places_in_order("h100-sxm", "8x32", {{"expert", 32}, {"pipeline", 8}}) ==
          Texts{"nvlink; ib x 4 of 32", "ib x 8 of 32"});
    CHECK(places_in_order("tpu-v5e", "16x16*2", {{"X", 2}, {"Y", 16}, {"Z", 16}}) ==
          Texts{"ici.0 x 2 of 16, unwrapped", "ici.1, a ring", "ici.0 x 8 of 16, a ring; dcn"});
    CHECK(places_in_order("tpu-v5e", "8x16", {{"X", 16}, {"Y", 8}}) == Texts{"ici.1, a ring", "ici.0, unwrapped"});
}

TEST_CASE("network: strides are the chips inside") {
    const auto axes = placed(catalogue_slice("tpu-v5e", "16x16"), {{"X", 2}, {"Y", 4}, {"Z", 2}, {"W", 16}});
    REQUIRE(axes.size() == 4);
    CHECK(axes[0].lanes == std::vector<Lane>{{0, 0, 2, 1, false}});
    CHECK(axes[1].lanes == std::vector<Lane>{{0, 0, 4, 2, false}});
    CHECK(axes[2].lanes == std::vector<Lane>{{0, 0, 2, 8, true}});
    CHECK(axes[3].lanes == std::vector<Lane>{{0, 1, 16, 1, true}});
    // No part of an open axis closes.
    const auto open = placed(catalogue_slice("tpu-v5e", "8x8"), {{"X", 2}, {"Y", 4}, {"Z", 8}});
    CHECK(open[0].lanes == std::vector<Lane>{{0, 0, 2, 1, false}});
    CHECK(open[1].lanes == std::vector<Lane>{{0, 0, 4, 2, false}});
}

namespace {

// For any mesh, sizes multiply up along each axis, and the parts of every torus axis tile it from the innermost on.
void check_tiles(const Slice& on, const std::vector<PlacedAxis>& axes) {
    std::map<std::pair<std::size_t, std::size_t>, std::map<std::int64_t, std::int64_t>> links;
    for (const PlacedAxis& axis : axes) {
        std::int64_t size = 1;
        for (const Lane& lane : axis.lanes) {
            size *= lane.size;
            CHECK(lane.size > 1);
            CHECK(links[{lane.tier, lane.axis}].emplace(lane.stride, lane.size).second);
        }
        CHECK(size == axis.size);
    }
    for (std::size_t tier = 0; tier < on.tiers.size(); ++tier) {
        for (std::size_t axis = 0; axis < on.tiers[tier].shape.size(); ++axis) {
            std::int64_t covered = 1;
            for (const auto& [stride, size] : links[{tier, axis}]) {
                CHECK(stride == covered);
                covered *= size;
            }
            CHECK(covered == on.tiers[tier].shape[axis]);
        }
    }
}

// Calls a function for every way to write `chips` as an ordered product of at most three sizes.
template <class Do>
void each_mesh(std::int64_t chips, Do run) {
    for (std::int64_t x = 1; x <= chips; ++x) {
        for (std::int64_t y = 1; chips % x == 0 && y <= chips / x; ++y) {
            if (chips / x % y == 0) run(Mesh{{"X", x}, {"Y", y}, {"Z", chips / x / y}});
        }
    }
}

}  // namespace

TEST_CASE("network: any sizes that multiply to the slice are placed, on every chip once") {
    const std::pair<std::string_view, std::string_view> slices[] = {
        {"tpu-v5e", "8x16"},  {"tpu-v5p", "4x12x8"}, {"tpu-v5p", "2x2x4*3"}, {"h100-sxm", "8x9"},
        {"h100-sxm", "6x10"}, {"gb200", "72x5"},     {"inferentia2", "12"},
    };
    for (const auto& [machine, shape] : slices) {
        CAPTURE(machine);
        CAPTURE(shape);
        const Slice on = catalogue_slice(machine, shape);
        each_mesh(on.chips(), [&](const Mesh& mesh) { check_tiles(on, placed(on, mesh)); });
    }
}

TEST_CASE("network: a mesh that does not match the slice") {
    const Slice on = catalogue_slice("tpu-v5e", "4x4");
    constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
    const Mesh wrong[] = {
        {},
        {{"X", 4}},
        {{"X", 8}},
        {{"X", 4}, {"Y", 8}},
        {{"X", 3}, {"Y", 5}},
        {{"X", 0}, {"Y", 16}},
        {{"X", 16}, {"Y", 0}},
        {{"X", -4}, {"Y", -4}},
        {{"X", -16}},
        {{"X", huge}, {"Y", huge}},
        {{"X", huge}, {"Y", 0}},
        {{"X", std::int64_t{1} << 32}, {"Y", std::int64_t{1} << 32}, {"Z", 16}},
    };
    for (const Mesh& mesh : wrong) {
        const auto refused = place_mesh(on, mesh);
        REQUIRE(!refused.has_value());
        CHECK(refused.error().code == "bad_mesh");
        CHECK(refused.error().message.find("16 chips") != std::string::npos);
    }
    const auto refused = place_mesh(on, {{"X", 4}, {"Y", 8}});
    CHECK(refused.error().message.find("X=4, Y=8") != std::string::npos);
    const auto alone = place_mesh(catalogue_slice("tpu-v5e", "1"), {{"X", 2}});
    REQUIRE(!alone.has_value());
    CHECK(alone.error().message.find("there is only one") != std::string::npos);
    CHECK(alone.error().hint.find("tpu-v5e:") != std::string::npos);
}

TEST_CASE("network: a million chips are placed") {
    const Slice on = catalogue_slice("h100-sxm", "8x125000");
    const auto axes = placed(on, {{"data", 1000}, {"pipe", 125}, {"model", 8}});
    check_tiles(on, axes);
    // The axis of 8 comes last. An axis that would fit whole elsewhere is not given priority, so the first axis takes
    // the inner chips.
    CHECK(place_text(on, axes[0]) == "nvlink; ib x 125 of 125000");
    CHECK(placed(on, {{"model", 8}, {"data", 125000}})[1].lanes.size() == 1);
}

TEST_CASE("axes whose links are given are placed there in any order") {
    const Slice torus = catalogue_slice("tpu-v5p", "4x4x8");
    const auto swapped = place_mesh(torus, {{"X", 4}, {"Y", 4, {"ici.0"}}, {"Z", 8}});
    REQUIRE_MESSAGE(swapped.has_value(), to_text(swapped.error()));
    CHECK((*swapped)[0].lanes.at(0).axis == 1);
    CHECK((*swapped)[1].lanes.at(0).axis == 0);
    // Along the third axis of 8 chips: the inner two, and the four that are left.
    const auto parts = place_mesh(torus, {{"X", 8, {"ici.1", "ici.2"}}, {"Y", 16}});
    REQUIRE_MESSAGE(parts.has_value(), to_text(parts.error()));
    REQUIRE((*parts)[0].lanes.size() == 2);
    CHECK((*parts)[0].lanes[1] == Lane{0, 2, 2, 1, false});
    CHECK((*parts)[1].lanes.back() == Lane{0, 2, 4, 2, true});
    const auto all = place_mesh(torus, {{"X", 128, {"ici"}}});
    REQUIRE(all.has_value());
    CHECK(all->at(0).lanes.size() == 3);
    const Slice nodes = catalogue_slice("h100-sxm", "8x4");
    const auto across = place_mesh(nodes, {{"data", 8}, {"model", 4, {"ib"}}});
    REQUIRE_MESSAGE(across.has_value(), to_text(across.error()));
    CHECK((*across)[1].lanes.at(0).tier == 1);
}

TEST_CASE("links that do not exist, or are too short, are refused") {
    const Slice torus = catalogue_slice("tpu-v5e", "4x4");
    const auto unknown = place_mesh(torus, {{"X", 4, {"icy.1"}}, {"Y", 4}});
    REQUIRE(!unknown.has_value());
    CHECK(unknown.error().code == "unknown_wire");
    CHECK(unknown.error().hint.find("ici.1") != std::string::npos);
    const auto third = place_mesh(torus, {{"X", 4, {"ici.2"}}, {"Y", 4}});
    REQUIRE(!third.has_value());
    CHECK(third.error().code == "unknown_wire");
    const auto shorter = place_mesh(torus, {{"X", 16, {"ici.0"}}});
    REQUIRE(!shorter.has_value());
    CHECK(shorter.error().message.find("4 chips are left over") != std::string::npos);
    const auto taken = place_mesh(torus, {{"X", 4, {"ici.0"}}, {"Y", 4, {"ici.0"}}});
    REQUIRE(!taken.has_value());
    CHECK(taken.error().code == "bad_mesh");
}
