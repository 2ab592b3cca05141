#include "network/leaf.hpp"

#include <doctest/doctest.h>

#include "network/collective.hpp"
#include "network/kinds_test.hpp"

using namespace roofline::core;

namespace {

// Nodes of four chips on a switch, with one NIC per chip.
Slice cluster(std::string_view shape, std::int64_t leaf, Rational ratio, std::int64_t rails = 1, bool reduces = false) {
    Machine machine;
    machine.id = machine.name = "toy";
    machine.network.resize(2);
    machine.network[0].id = machine.network[0].topology = "switch";
    machine.network[0].domain = 4;
    machine.network[1].id = machine.network[1].topology = "nic";
    machine.network[1].leaf = leaf;
    machine.network[1].oversubscription = ratio;
    machine.network[1].rails = rails;
    machine.network[1].in_network_reduction = reduces;
    auto made = make_slice(machine, shape);
    REQUIRE_MESSAGE(made.has_value(), to_text(made.error()));
    return *made;
}

using Mesh = std::vector<MeshAxis>;

// The load on the NICs over the mesh axes whose names are in `over`.
Rational nic(const Slice& on, CollectiveKind kind, const Mesh& mesh, std::string_view over) {
    const auto placed = place_mesh(on, mesh);
    REQUIRE(placed.has_value());
    std::vector<const PlacedAxis*> axes;
    for (const PlacedAxis& axis : *placed) {
        if (over.find(axis.name) != std::string_view::npos) axes.push_back(&axis);
    }
    const auto load = collective_load(on, kind, axes);
    REQUIRE(load.has_value());
    return load->tiers.back().link_bytes;
}

const Mesh all_chips = {{"A", 32}};

}  // namespace

TEST_CASE("network: which members share a leaf") {
    // Eight chips are two nodes; eight ports, each on its own rail, belong to eight nodes.
    CHECK(leaves_of(cluster("4x8", 8, Rational(2)), 1)->members == 2);
    CHECK(leaves_of(cluster("4x8", 8, Rational(2), 4), 1)->members == 8);
    CHECK(leaves_of(cluster("4x8", 8, Rational(2), 2), 1)->members == 4);
    CHECK(leaves_of(cluster("4x8", 2, Rational(2)), 1)->members == 1);  // half a node
    CHECK(!leaves_of(cluster("4x8", 0, Rational(1)), 1).has_value());
    CHECK(!leaves_of(cluster("4x8", 8, Rational(2)), 0).has_value());
    // If one chip per node is in use, a quarter of a leaf's ports is busy; on a rail of its own that chip has all of
    // them.
    CHECK(leaves_of(cluster("4x8", 8, Rational(3)), 1)->narrowing == Rational(3));
    CHECK(leaves_of(cluster("1x8", 8, Rational(3)), 0)->narrowing == Rational(3, 4));
    CHECK(leaves_of(cluster("1x8", 8, Rational(3), 4), 0)->narrowing == Rational(3));
    CHECK(leaves_of(cluster("4x8", 8, Rational(3)), 1)->uplinks == Rational(8, 3));
}

TEST_CASE("network: oversubscription divides the rate between leaves") {
    // Four leaves of two nodes. 3/4 of the V/4 that the nodes gather for each chip must enter a leaf, for its two
    // members at a quarter of the rate of their two ports: V/4 x 3/4 x 4/2. At half the rate the ports are the
    // bottleneck: V/4 x 7/8.
    CHECK(nic(cluster("4x8", 8, Rational(4)), all_gather, all_chips, "A") == Rational(3, 8));
    CHECK(nic(cluster("4x8", 8, Rational(4)), reduce_scatter, all_chips, "A") == Rational(3, 8));
    CHECK(nic(cluster("4x8", 8, Rational(4)), all_reduce, all_chips, "A") == Rational(3, 4));
    CHECK(nic(cluster("4x8", 8, Rational(2)), all_gather, all_chips, "A") == Rational(7, 32));
    CHECK(nic(cluster("4x8", 8, Rational(1)), all_gather, all_chips, "A") == Rational(7, 32));
    // Of the V/32 on a chip, the parts of 6 of 8 nodes leave the leaf, at half the rate.
    CHECK(nic(cluster("4x8", 8, Rational(2)), all_to_all, all_chips, "A") == Rational(2 * 6, 8 * 32));
    // One leaf per node: everything that leaves the node leaves the leaf.
    CHECK(nic(cluster("4x8", 4, Rational(3)), all_gather, all_chips, "A") == Rational(3 * 7, 32));
    CHECK(nic(cluster("4x8", 2, Rational(3)), all_gather, all_chips, "A") == Rational(3 * 7, 32));
    // A permute need not leave a leaf.
    CHECK(nic(cluster("4x8", 8, Rational(4)), permute, all_chips, "A") == Rational(1, 32));
}

TEST_CASE("network: groups inside a leaf and across leaves") {
    const Slice on = cluster("4x8", 8, Rational(4));
    const Mesh mesh = {{"X", 4}, {"Y", 2}, {"Z", 4}};
    CHECK(nic(on, all_gather, mesh, "Y") == Rational(1, 2));      // two neighbouring nodes share a leaf
    CHECK(nic(on, all_gather, mesh, "Z") == Rational(4 * 3, 4));  // every other node: one member under each leaf
    CHECK(nic(on, all_gather, mesh, "YZ") == Rational(4 * 3, 4 * 2));
    CHECK(nic(cluster("4x2", 8, Rational(4)), all_gather, {{"A", 8}}, "A") == Rational(1, 8));
}

TEST_CASE("network: rails keep chips of one index under one leaf") {
    // Leaves of eight ports hold the chips of one index of all eight nodes.
    CHECK(nic(cluster("4x8", 8, Rational(4), 4), all_gather, all_chips, "A") == Rational(7, 32));
    CHECK(nic(cluster("4x8", 8, Rational(4), 4), all_to_all, all_chips, "A") == Rational(7, 8 * 32));
    // With sixteen nodes, half of them: two leaves of eight members, V/4 x 1/2 x 16/8.
    CHECK(nic(cluster("4x16", 8, Rational(16), 4), all_gather, {{"A", 64}}, "A") == Rational(1, 4));
    CHECK(nic(cluster("4x16", 8, Rational(4), 4), all_gather, {{"A", 64}}, "A") == Rational(15, 64));
}

TEST_CASE("network: NICs whose switches reduce send V and receive V") {
    CHECK(nic(cluster("4x8", 0, Rational(1), 1, true), all_reduce, all_chips, "A") == Rational(1, 4));
    CHECK(nic(cluster("4x2", 0, Rational(1), 1, true), all_reduce, {{"A", 8}}, "A") == Rational(1, 4));
    CHECK(nic(cluster("4x8", 0, Rational(1), 1, false), all_reduce, all_chips, "A") == Rational(7, 16));
    // A leaf passes on one sum for its two members.
    CHECK(nic(cluster("4x8", 8, Rational(4), 1, true), all_reduce, all_chips, "A") == Rational(4, 2 * 4));
}
