#include "network/permutation.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"
#include "network/slices_test.hpp"

using namespace roofline::core;

namespace {

using Targets = std::vector<std::int64_t>;

double seconds(const Slice& on, const Targets& to) {
    const auto load = permutation_load(on, to);
    REQUIRE_MESSAGE(load.has_value(), to_text(load.error()));
    return load->transfer_s(1, std::vector<double>(on.tiers.size(), 1.0));
}

// Targets when an array changes from X then Y to Y then X.
Targets swapped(const Slice& on, std::int64_t x, std::int64_t y) {
    const auto mesh = place_mesh(on, {{"X", x}, {"Y", y}});
    REQUIRE(mesh.has_value());
    const auto to = reorder(on, {&(*mesh)[0], &(*mesh)[1]}, {&(*mesh)[1], &(*mesh)[0]});
    REQUIRE(to.has_value());
    return *to;
}

Targets shifted(std::int64_t chips, std::int64_t by) {
    Targets to;
    for (std::int64_t chip = 0; chip < chips; ++chip) to.push_back((chip + by) % chips);
    return to;
}

}  // namespace

TEST_CASE("network: targets when mesh axes change their order") {
    // On a line of four X is the inner part: chip x + 2y holds part 2x + y and will hold part 2y + x. The middle two
    // swap.
    CHECK(swapped(test_torus({4}, {false}), 2, 2) == Targets{0, 2, 1, 3});
    // On 2 x 3 chip x + 2y holds part 3x + y. Part 2 moves from (0,2) to (0,1), part 3 from (1,0) to (1,1).
    CHECK(swapped(test_torus({2, 3}, {false, false}), 2, 3) == Targets{0, 3, 1, 4, 2, 5});
    // When only the NICs are crossed, one chip per node moves: chip 0.
    const Slice nodes = catalogue_slice("h100-sxm", "8x4");
    const auto mesh = place_mesh(nodes, {{"M", 8}, {"P", 2}, {"Q", 2}});
    REQUIRE(mesh.has_value());
    const auto to = reorder(nodes, {&(*mesh)[1], &(*mesh)[2]}, {&(*mesh)[2], &(*mesh)[1]});
    REQUIRE(to.has_value());
    for (std::int64_t chip = 0; chip < 32; ++chip) {
        const std::int64_t node = chip / 8;
        const std::int64_t goes = node == 1 ? 2 : node == 2 ? 1 : node;
        CHECK((*to)[static_cast<std::size_t>(chip)] == goes * 8 + chip % 8);
    }
}

TEST_CASE("network: permutations calculated by hand") {
    // The middle two of four swap: one message between them in each direction, one hop.
    const Slice line = test_torus({4}, {false});
    CHECK(seconds(line, swapped(line, 2, 2)) == 1);
    CHECK(permutation_load(line, swapped(line, 2, 2))->hops == 1);
    CHECK(permutation_load(line, swapped(line, 2, 2))->latency_s == approx(1e-6));
    // When a line is reversed, three of six messages cross its middle.
    CHECK(seconds(test_torus({6}, {false}), {5, 4, 3, 2, 1, 0}) == 3);
    // All chips send to the next on a ring of eight: a share x goes up and 1-x goes the long way down, which balances
    // at 7/8.
    CHECK(seconds(test_torus({8}, {true}), shifted(8, 1)) == approx(7.0 / 8));
    CHECK(seconds(test_torus({7}, {true}), shifted(7, 3)) == approx(12.0 / 7));
    CHECK(permutation_load(test_torus({8}, {true}), shifted(8, 7))->hops == 1);
    // Messages that go half way round may go either way.
    CHECK(seconds(test_torus({8}, {true}), shifted(8, 4)) == 2);
    CHECK(seconds(test_torus({2}, {true}), {1, 0}) == 1);
    // One chip sends to another while the rest is idle: it uses all of its links.
    CHECK(seconds(test_torus({3, 3}, {true, true}), {4, -1, -1, -1, -1, -1, -1, -1, -1}) == approx(0.25));
    // From the middle of an open 3x3 to a corner, which has two links; two messages along a line over one link.
    CHECK(seconds(test_torus({3, 3}, {false, false}), {-1, -1, -1, -1, 0, -1, -1, -1, -1}) == approx(0.5));
    CHECK(seconds(test_torus({4}, {false}), {-1, -1, 0, 1}) == 2);
    CHECK(seconds(catalogue_slice("h100-sxm", "8"), shifted(8, 3)) == 1);
    CHECK(permutation_load(catalogue_slice("h100-sxm", "8"), {0, 1, 2, 3, 4, 5, 6, 7})->cuts.empty());
    // Eight NICs carry what leaves a node: its last chip sends to the first chip of the next node.
    const Slice nodes = catalogue_slice("h100-sxm", "8x4");
    const auto load = permutation_load(nodes, shifted(32, 1));
    REQUIRE(load.has_value());
    CHECK(load->transfer_s(1, {450, 50}) == approx(1.0 / 400));
    CHECK(load->transfer_s(1, {50, 400}) == approx(1.0 / 450));
}

TEST_CASE("network: permutations compared with concurrent flows of all messages") {
    // The maximum concurrent flow, computed by multiplicative weights (Garg and Koenemann) outside of this program:
    // between a flow that was found and the dual of its weights.
    struct Row {
        std::vector<std::int64_t> shape;
        std::vector<bool> wrapped;
        std::int64_t x, y;
        double dual, flow;
    };
    const Row rows[] = {
        {{4, 4}, {false, false}, 4, 4, 0.970, 1.024},
        {{4, 4}, {true, true}, 4, 4, 0.492, 0.502},
        {{2, 4}, {false, false}, 2, 4, 0.970, 1.001},
        {{8}, {false}, 2, 4, 1.913, 2.001},
        {{8}, {true}, 2, 4, 0.970, 1.032},
        {{3, 5}, {true, true}, 3, 5, 0.641, 0.674},
        {{16}, {true}, 4, 4, 2.383, 2.519},
        {{4, 8}, {false, true}, 4, 8, 1.107, 1.187},
    };
    for (const Row& row : rows) {
        const Slice on = test_torus(row.shape, row.wrapped);
        const double bound = seconds(on, swapped(on, row.x, row.y));
        CAPTURE(row.shape.size());
        CAPTURE(row.x);
        CHECK(bound <= row.flow);
        CHECK(bound >= row.dual);
    }
    // Every chip of a 4x4 torus sends to the next one in its row.
    const Targets next = {1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12};
    CHECK(seconds(test_torus({4, 4}, {true, true}), next) == approx(0.75));  // 0.733 to 0.767
}

TEST_CASE("network: a permutation between leaves uses their uplinks") {
    Machine machine;
    machine.id = machine.name = "toy";
    machine.network.resize(1);
    machine.network[0].id = machine.network[0].topology = "switch";
    machine.network[0].leaf = 4;
    machine.network[0].oversubscription = Rational(2);
    const auto on = make_slice(machine, "8");
    REQUIRE(on.has_value());
    CHECK(seconds(*on, {1, 0, 3, 2, 5, 4, 7, 6}) == 1);
    CHECK(seconds(*on, {4, 5, 6, 7, 0, 1, 2, 3}) == 2);  // four messages over uplinks of two ports
    CHECK(seconds(*on, {4, 1, 2, 3, 0, 5, 6, 7}) == 1);
}

TEST_CASE("network: invalid permutations") {
    const Slice on = test_torus({4}, {false});
    for (const Targets& bad : {Targets{0, 1, 2}, Targets{0, 1, 2, 4}, Targets{0, 1, 2, -2}, Targets{1, 1, 2, 3}}) {
        const auto refused = permutation_load(on, bad);
        REQUIRE(!refused.has_value());
        CHECK(refused.error().code == "bad_permutation");
    }
    const auto mesh = place_mesh(on, {{"X", 2}, {"Y", 2}});
    CHECK(reorder(on, {&(*mesh)[0]}, {&(*mesh)[1]}).error().code == "bad_permutation");
    const Slice many = catalogue_slice("h100-sxm", "8x125001");
    CHECK(permutation_load(many, Targets(1000008, -1)).error().code == "too_many_chips");
    CHECK(permutation_load(catalogue_slice("h100-sxm", "8x125000"), shifted(1000000, 8)).has_value());
}

TEST_CASE("network: the next chip along a mesh axis") {
    // Two nodes of eight and an axis over them: each chip of the first node sends to its counterpart; those of the
    // second send nothing.
    const Slice nodes = catalogue_slice("h100-sxm", "8x2");
    const auto mesh = place_mesh(nodes, {{"M", 8}, {"P", 2}});
    REQUIRE(mesh.has_value());
    const auto to = next_along(nodes, {&(*mesh)[1]});
    REQUIRE(to.has_value());
    for (std::size_t chip = 0; chip < 16; ++chip) {
        CHECK((*to)[chip] == (chip < 8 ? static_cast<std::int64_t>(chip) + 8 : -1));
    }
    // Each NIC carries one message.
    CHECK(seconds(nodes, *to) == 1);
}
