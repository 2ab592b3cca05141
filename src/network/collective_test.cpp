#include "network/collective.hpp"

#include <doctest/doctest.h>

#include <map>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"
#include "network/kinds_test.hpp"
#include "network/slices_test.hpp"

using namespace roofline::core;

namespace {

using Mesh = std::vector<MeshAxis>;

// Returns the load over the mesh axes whose names are in `over`.
CollectiveLoad load(const Slice& on, CollectiveKind kind, const Mesh& mesh, std::string_view over,
                    bool textbook = false) {
    const auto placed = place_mesh(on, mesh);
    REQUIRE_MESSAGE(placed.has_value(), to_text(placed.error()));
    std::vector<const PlacedAxis*> axes;
    for (const char name : over) {
        for (const PlacedAxis& axis : *placed) {
            if (axis.name == std::string(1, name)) axes.push_back(&axis);
        }
    }
    REQUIRE(axes.size() == over.size());
    const auto result = collective_load(on, kind, axes, {textbook});
    REQUIRE(result.has_value());
    return *result;
}

// Returns the load over a whole slice with one tier.
TierLoad whole(std::string_view machine, std::string_view shape, CollectiveKind kind, bool textbook = false) {
    const Slice on = catalogue_slice(machine, shape);
    const CollectiveLoad result = load(on, kind, {{"X", on.chips()}}, "X", textbook);
    REQUIRE(result.tiers.size() == 1);
    CHECK(result.members == on.chips());
    return result.tiers[0];
}

}  // namespace

TEST_CASE("network: names of collectives") {
    CHECK(collective_name(all_gather) == "all_gather");
    CHECK(collective_name(all_gather, true) == "all-gather");
    CHECK(collective_name(reduce_scatter, true) == "reduce-scatter");
    CHECK(collective_name(all_reduce) == "all_reduce");
    CHECK(collective_name(all_to_all, true) == "all-to-all");
    CHECK(collective_name(permute) == collective_name(permute, true));
}

TEST_CASE("network: one ring and one open axis") {
    const Slice on = catalogue_slice("tpu-v5e", "8x16");
    const Mesh mesh = {{"X", 8}, {"Y", 16}};
    // A ring of 16: 15/16 of V must come in over two links. The farthest chip is half way round: 8 hops of 1 us.
    CHECK(load(on, all_gather, mesh, "Y").tiers[0].link_bytes == Rational(15, 32));
    CHECK(load(on, reduce_scatter, mesh, "Y").tiers[0].link_bytes == Rational(15, 32));
    CHECK(load(on, all_reduce, mesh, "Y").tiers[0].link_bytes == Rational(15, 16));
    CHECK(load(on, all_gather, mesh, "Y").tiers[0].latency_s == approx(8e-6));
    // An all-reduce of a tiny array need not scatter before it gathers: every chip receives all parts within half the
    // ring and sums them.
    CHECK(load(on, all_reduce, mesh, "Y").tiers[0].latency_s == approx(8e-6));
    CHECK(load(on, all_reduce, mesh, "Y", true).tiers[0].latency_s == approx(16e-6));
    CHECK(load(on, all_gather, mesh, "Y").members == 16);
    // All-to-all on a ring: a quarter of V crosses from one half to the other, over two links.
    CHECK(load(on, all_to_all, mesh, "Y").tiers[0].link_bytes == Rational(1, 8));
    // An open axis of 8: the end chip receives 7/8 of V over its only link; 7 hops. One link crosses the middle.
    CHECK(load(on, all_gather, mesh, "X").tiers[0].link_bytes == Rational(7, 8));
    CHECK(load(on, all_gather, mesh, "X").tiers[0].latency_s == approx(7e-6));
    CHECK(load(on, all_to_all, mesh, "X").tiers[0].link_bytes == Rational(1, 4));
    CHECK(load(on, permute, mesh, "X").tiers[0].link_bytes == Rational(1, 8));
    // The bytes that one chip sends do not depend on the links.
    CHECK(load(on, all_gather, mesh, "X").tiers[0].sent_bytes == Rational(7, 8));
    CHECK(load(on, all_reduce, mesh, "X").tiers[0].sent_bytes == Rational(7, 4));
    CHECK(load(on, all_to_all, mesh, "X").tiers[0].sent_bytes == Rational(7, 64));
    CHECK(load(on, permute, mesh, "X").tiers[0].sent_bytes == Rational(1, 8));
}

TEST_CASE("network: numbers of the textbook's exercises") {
    // bf16[2048, 8192] over the open axis of 4 of a v5e slice: three shards of 8.4 MB follow each other over the end
    // chip's only link, 559 us at 45 GB/s; with a ring and without the factor (n-1)/n, 373 us.
    const Slice v5e = catalogue_slice("tpu-v5e", "8x4");
    const Mesh xy = {{"X", 8}, {"Y", 4}};
    const double bytes = 2048.0 * 8192 * 2;
    CHECK(load(v5e, all_gather, xy, "Y").tiers[0].link_bytes.to_double() * bytes / 45e9 ==
          approx(559.24e-6).epsilon(1e-4));
    CHECK(load(v5e, all_gather, xy, "Y", true).tiers[0].link_bytes.to_double() * bytes / 45e9 ==
          approx(372.83e-6).epsilon(1e-4));
    CHECK(load(v5e, all_gather, xy, "Y").tiers[0].latency_s == approx(3e-6));
    // 1 GiB over a v5e ring of 16 by the textbook estimate: 11.93 ms, twice that for an all-reduce, a quarter for an
    // all-to-all.
    const double gib = 1073741824;
    const Slice pod = catalogue_slice("tpu-v5e", "16x16");
    const Mesh square = {{"X", 16}, {"Y", 16}};
    const auto textbook_load = [&](CollectiveKind kind) {
        return load(pod, kind, square, "X", true).tiers[0].link_bytes.to_double() * gib / 45e9;
    };
    CHECK(textbook_load(all_gather) == approx(0.0119304647));
    CHECK(textbook_load(reduce_scatter) == approx(0.0119304647));
    CHECK(textbook_load(all_reduce) == approx(0.0238609294));
    CHECK(textbook_load(all_to_all) == approx(0.0029826162));
    // The same over one, two and three axes of v5p at 90 GB/s per link.
    const Slice cube = catalogue_slice("tpu-v5p", "4x4x4");
    const Mesh xyz = {{"X", 4}, {"Y", 4}, {"Z", 4}};
    const auto over = [&](std::string_view axes) {
        return load(cube, all_gather, xyz, axes, true).tiers[0].link_bytes.to_double() * gib / 90e9;
    };
    CHECK(over("X") == approx(0.00596523236));
    CHECK(over("XY") == approx(0.00298261618));
    CHECK(over("XYZ") == approx(0.00198841079));
    // The latency of an all-gather over the three axes: 2 hops on each.
    CHECK(load(cube, all_gather, xyz, "XYZ", true).tiers[0].latency_s == approx(6e-6));
    CHECK(load(cube, all_gather, xyz, "XYZ").tiers[0].latency_s == approx(6e-6));
    // Over a whole v5p pod: 8 + 10 + 14 hops.
    CHECK(whole("tpu-v5p", "16x20x28", all_gather).latency_s == approx(32e-6));
    // A permute with unknown targets may be between neighbours.
    CHECK(whole("tpu-v5e", "4x4", permute).latency_s == approx(1e-6));
    // A chip in the corner of a v5e 4x4 receives the other 15/16 over its two links.
    CHECK(whole("tpu-v5e", "4x4", all_gather).link_bytes == Rational(15, 32));
}

TEST_CASE("network: in the textbook estimate every axis is a ring") {
    CHECK(whole("tpu-v5e", "4x4", all_gather, true).link_bytes == Rational(1, 4));
    CHECK(whole("tpu-v5e", "4x4", all_to_all, true).link_bytes == Rational(1, 16));
    CHECK(whole("tpu-v5e", "4x4", all_reduce, true).link_bytes == Rational(1, 2));
    CHECK(whole("tpu-v5e", "4x4", all_gather, true).latency_s == approx(4e-6));
    CHECK(whole("tpu-v5e", "4x4", permute, true).link_bytes == Rational(1, 16));
    CHECK(whole("h100-sxm", "8", all_gather, true).link_bytes == Rational(1));
    CHECK(whole("h100-sxm", "8", all_to_all, true).link_bytes == Rational(1, 8));
    CHECK(whole("h100-sxm", "8", permute, true).link_bytes == Rational(1, 8));
    CHECK(whole("gb200", "72", reduce_scatter, true).link_bytes == Rational(1));
    // Two adjoining parts of one axis are that axis: one ring, not two.
    CHECK(load(catalogue_slice("tpu-v5e", "16x16"), all_gather, {{"X", 4}, {"Y", 4}, {"Z", 16}}, "YX", true)
              .tiers[0]
              .link_bytes == Rational(1, 2));
}

TEST_CASE("network: parts of an axis share its links") {
    const Slice on = catalogue_slice("tpu-v5e", "16x16");
    const Mesh quarters = {{"X", 4}, {"Y", 4}, {"Z", 16}};
    // The inner four are an open axis, whose end receives 3/4 of V over one link.
    CHECK(load(on, all_gather, quarters, "X").tiers[0].link_bytes == Rational(3, 4));
    CHECK(load(on, all_gather, quarters, "X").tiers[0].latency_s == approx(3e-6));
    // Rings of four through every fourth chip share the links, four of them at a time: four neighbouring chips, one of
    // each ring, need 3V together and have two incoming links. Half way round takes 8 hops.
    CHECK(load(on, all_gather, quarters, "Y").tiers[0].link_bytes == Rational(3, 2));
    CHECK(load(on, all_gather, quarters, "Y").tiers[0].latency_s == approx(8e-6));
    // Both together are the ring of 16, in either order.
    for (const char* both : {"XY", "YX"}) {
        const TierLoad ring = load(on, all_gather, quarters, both).tiers[0];
        CHECK(ring.link_bytes == Rational(15, 32));
        CHECK(ring.latency_s == approx(8e-6));
        CHECK(load(on, all_to_all, quarters, both).tiers[0].link_bytes == Rational(1, 8));
    }
    CHECK(load(on, all_gather, quarters, "ZXY").tiers[0].link_bytes ==
          load(on, all_gather, {{"A", 256}}, "A").tiers[0].link_bytes);
    // Pairs across the ring: eight neighbouring chips need V/2 each over two links, in either direction.
    const Mesh halves = {{"X", 8}, {"Y", 2}, {"Z", 16}};
    CHECK(load(on, all_gather, halves, "Y").tiers[0].link_bytes == Rational(2));
    CHECK(load(on, all_gather, halves, "Y").tiers[0].latency_s == approx(8e-6));
    // The same on an open axis of 8: the four chips at its end need V/2 each over one link.
    const Slice open = catalogue_slice("tpu-v5e", "8x8");
    CHECK(load(open, all_gather, {{"X", 4}, {"Y", 2}, {"Z", 8}}, "Y").tiers[0].link_bytes == Rational(2));
    // The first and last of three parts: places 0, 1, 4, 5, 8 ... 13. A tree between these eight uses seven of the
    // links between 0 and 1, 2 and 3, 4 and 5 ..., because the only path from 1 to 4 crosses the link between 2 and 3.
    // So do the trees of the other groups: 2 groups x 7 over 8 links, each in two directions, gives 7/8; a linear
    // program over all schedules finds the same.
    const Mesh three = {{"X", 2}, {"Y", 2}, {"Z", 4}, {"W", 16}};
    CHECK(load(on, all_gather, three, "XZ").tiers[0].link_bytes == Rational(7, 8));
    CHECK(load(on, all_gather, three, "XZ").members == 8);
    // Together with a ring across: 127 such links, or those of the ring, for each of two groups, out of 8 x 16 and 16 x
    // 16 links.
    CHECK(load(on, all_gather, three, "XZW").tiers[0].link_bytes == Rational(127, 384));
}

namespace {

// The most bytes that must enter any run of neighbouring chips of a ring over its two incoming links: no algorithm is
// faster. Chips p and q are in one group when they agree in all parts that the collective does not use.
double gather_bound(std::int64_t ring, const std::vector<Lane>& lanes) {
    const auto group = [&](std::int64_t chip) {
        for (const Lane& lane : lanes) chip -= chip / lane.stride % lane.size * lane.stride;
        return chip;
    };
    double n = 1;
    for (const Lane& lane : lanes) n *= static_cast<double>(lane.size);
    double worst = 0;
    for (std::int64_t begin = 0; begin < ring; ++begin) {
        std::map<std::int64_t, int> inside;
        for (std::int64_t length = 1; length < ring; ++length) {
            ++inside[group((begin + length - 1) % ring)];
            double bytes = 0;
            for (const auto& [who, count] : inside) bytes += (n - count) / n;
            worst = std::max(worst, bytes / 2);
        }
    }
    return worst;
}

}  // namespace

TEST_CASE("network: parts of a ring compared with every cut of it") {
    const Slice on = catalogue_slice("tpu-v5e", "16x16");
    const Mesh mesh = {{"X", 2}, {"Y", 2}, {"Z", 2}, {"U", 2}, {"W", 16}};
    const auto placed = place_mesh(on, mesh);
    REQUIRE(placed.has_value());
    const auto lanes_of = [&](std::string_view over) {
        std::vector<Lane> lanes;
        for (const PlacedAxis& axis : *placed) {
            if (over.find(axis.name) != std::string_view::npos) lanes.push_back(axis.lanes[0]);
        }
        return lanes;
    };
    const auto carried = [&](std::string_view over) {
        return load(on, all_gather, mesh, over).tiers[0].link_bytes.to_double();
    };
    // For groups that reach round the ring (with its outermost part U) in adjoining parts, the load is that of the
    // worst cut.
    for (const std::string_view over : {"U", "ZU", "YZU", "XYZU"}) {
        CAPTURE(over);
        CHECK(carried(over) == approx(gather_bound(16, lanes_of(over))));
    }
    // If a part between them is left out, other sums of links need more time than any run of chips. Linear programs
    // over all schedules (a flow from each chip to each other one of its group, over shares of the links that all flows
    // from one chip use together) find these least times.
    const std::map<std::string_view, double> least = {{"YU", 1.5}, {"XU", 1.25}, {"XYU", 0.875}, {"XZU", 0.875}};
    for (const auto& [over, seconds] : least) {
        CAPTURE(over);
        CHECK(carried(over) == approx(seconds));
        CHECK(carried(over) >= gather_bound(16, lanes_of(over)));
    }
    // Here the bound is 1 and the least time 1.25, because runs that end within two copies of a part are not among the
    // cuts.
    CHECK(carried("XZ") <= 1.25);
    CHECK(carried("XZ") >= 1.25 * 0.8);
}

TEST_CASE("network: switches") {
    // 7/8 of V enters every chip's port. In an all-reduce the switch reduces the chip's own part: V goes out, and V/8
    // more than V comes back.
    CHECK(whole("h100-sxm", "8", all_gather).link_bytes == Rational(7, 8));
    CHECK(whole("h100-sxm", "8", reduce_scatter).link_bytes == Rational(7, 8));
    CHECK(whole("h100-sxm", "8", all_to_all).link_bytes == Rational(7, 64));
    CHECK(whole("h100-sxm", "8", permute).link_bytes == Rational(1, 8));
    CHECK(whole("h100-sxm", "8", all_reduce).link_bytes == Rational(9, 8));  // less than 14/8
    CHECK(whole("h100-sxm", "8", all_reduce).sent_bytes == Rational(9, 8));
    CHECK(whole("h100-sxm", "8", all_reduce).two_phase_bytes == Rational(7, 4));
    // (n+1)/n compared with 2(n-1)/n: the ring is better for two chips, equal for three, and reduction in the network
    // is better from four on.
    CHECK(whole("h100-sxm", "2", all_reduce).link_bytes == Rational(1));
    CHECK(whole("h100-sxm", "3", all_reduce).link_bytes == Rational(4, 3));
    CHECK(whole("h100-sxm", "4", all_reduce).link_bytes == Rational(5, 4));
    CHECK(whole("gb200", "72", all_reduce).link_bytes == Rational(73, 72));
    Machine plain = *find_machine("h100-sxm");
    plain.network[0].in_network_reduction = false;
    const auto without = make_slice(plain, "8");
    REQUIRE(without.has_value());
    CHECK(load(*without, all_reduce, {{"X", 8}}, "X").tiers[0].link_bytes == Rational(7, 4));
    CHECK(load(*without, all_reduce, {{"X", 8}}, "X", true).tiers[0].link_bytes == Rational(2));
    // Part of a switch is a switch.
    CHECK(load(catalogue_slice("h100-sxm", "8"), all_gather, {{"X", 2}, {"Y", 4}}, "Y").tiers[0].link_bytes ==
          Rational(3, 4));
}

TEST_CASE("network: full meshes") {
    // A shard goes to each of the seven others over a separate link.
    CHECK(whole("mi300x", "8", all_gather).link_bytes == Rational(1, 8));
    CHECK(whole("mi300x", "8", reduce_scatter).link_bytes == Rational(1, 8));
    CHECK(whole("mi300x", "8", all_reduce).link_bytes == Rational(1, 4));
    CHECK(whole("mi300x", "8", all_to_all).link_bytes == Rational(1, 64));
    CHECK(whole("mi300x", "8", permute).link_bytes == Rational(1, 8));
    CHECK(whole("mi300x", "8", all_gather).sent_bytes == Rational(7, 8));
    // A group of two has one link.
    CHECK(whole("mi300x", "2", all_gather).link_bytes == Rational(1, 2));
    CHECK(whole("mi300x", "2", all_reduce).link_bytes == Rational(1));
}

TEST_CASE("network: nodes and the network between them") {
    const Slice on = catalogue_slice("h100-sxm", "8x16");
    const Mesh mesh = {{"X", 128}};
    // A reduce-scatter of V inside the node, an all-reduce of V/8 between the nodes, an all-gather of V inside: 15/16
    // of V/8 twice.
    const CollectiveLoad reduced = load(on, all_reduce, mesh, "X");
    REQUIRE(reduced.tiers.size() == 2);
    CHECK(reduced.members == 128);
    CHECK(reduced.tiers[0].tier == 0);
    CHECK(reduced.tiers[1].tier == 1);
    CHECK(reduced.tiers[0].link_bytes == Rational(9, 8));
    CHECK(reduced.tiers[1].link_bytes == Rational(2 * 15, 16 * 8));
    const CollectiveLoad gathered = load(on, all_gather, mesh, "X");
    CHECK(gathered.tiers[0].link_bytes == Rational(7, 8));
    CHECK(gathered.tiers[1].link_bytes == Rational(15, 128));
    // A chip receives 127/128 of V in all: bytes that came over the NIC are not sent again.
    CHECK(gathered.tiers[0].link_bytes + gathered.tiers[1].link_bytes == Rational(127, 128));
    // All-to-all: a chip holds V/128 and sends 120/128 of it straight to other nodes, 7/128 inside its own node.
    const CollectiveLoad moved = load(on, all_to_all, mesh, "X");
    CHECK(moved.tiers[0].link_bytes == Rational(7, 128 * 128));
    CHECK(moved.tiers[1].link_bytes == Rational(15, 16 * 128));
    CHECK(load(on, permute, mesh, "X").tiers[0].link_bytes == Rational(1, 128));
    CHECK(load(on, permute, mesh, "X").tiers[1].link_bytes == Rational(1, 128));
    CHECK(moved.tiers[0].sent_bytes + moved.tiers[1].sent_bytes == Rational(127, 128 * 128));
    // A collective loads only the axes that it uses.
    const Mesh two = {{"X", 8}, {"Y", 16}};
    REQUIRE(load(on, all_gather, two, "Y").tiers.size() == 1);
    CHECK(load(on, all_gather, two, "Y").tiers[0].tier == 1);
    CHECK(load(on, all_gather, two, "Y").tiers[0].link_bytes == Rational(15, 16));
    CHECK(load(on, all_gather, two, "YX").tiers[0].link_bytes == Rational(7, 8));
    CHECK(load(on, all_gather, two, "YX").tiers[1].link_bytes == Rational(15, 128));
}

TEST_CASE("network: slices of a torus over the data-centre network") {
    const Slice on = catalogue_slice("tpu-v5p", "4x4x4*2");
    const CollectiveLoad gathered = load(on, all_gather, {{"P", 2}, {"X", 64}}, "PX");
    REQUIRE(gathered.tiers.size() == 2);
    CHECK(gathered.tiers[0].link_bytes == Rational(63, 64 * 6));
    CHECK(gathered.tiers[1].link_bytes == Rational(1, 2 * 64));
    // A quarter of V is exchanged inside a slice (half of the half that its chips hold), and half of each V/128 crosses
    // the NICs.
    const CollectiveLoad moved = load(on, all_to_all, {{"P", 2}, {"X", 64}}, "PX");
    CHECK(moved.tiers[0].link_bytes == Rational(1, 4) * whole("tpu-v5p", "4x4x4", all_to_all).link_bytes);
    CHECK(moved.tiers[1].link_bytes == Rational(1, 2 * 128));
}

TEST_CASE("network: a group of one has nothing to do, and a million chips get an answer") {
    const Slice one = catalogue_slice("tpu-v5e", "1");
    CHECK(load(one, all_reduce, {{"X", 1}}, "X").tiers.empty());
    CHECK(load(one, all_reduce, {{"X", 1}}, "X").members == 1);
    CHECK(load(catalogue_slice("tpu-v5e", "4x4"), all_gather, {{"X", 16}}, "").tiers.empty());

    const Slice on = catalogue_slice("h100-sxm", "8x125000");
    const CollectiveLoad all = load(on, all_reduce, {{"X", 1000000}}, "X");
    CHECK(all.members == 1000000);
    CHECK(all.tiers[1].link_bytes == Rational(2 * 124999, 125000) / Rational(8));
    const CollectiveLoad far =
        load(catalogue_slice("tpu-v5p", "16x20x28*111607"), all_to_all, {{"X", 8960LL * 111607}}, "X");
    for (const TierLoad& tier : far.tiers) {
        CHECK(!tier.link_bytes.overflowed());
        CHECK(!tier.sent_bytes.overflowed());
    }
}
