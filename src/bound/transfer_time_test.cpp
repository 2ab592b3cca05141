#include <doctest/doctest.h>

#include <algorithm>

#include "base/approx_test.hpp"
#include "bound/network_pricing.hpp"
#include "bound/times.hpp"
#include "machine/catalogue.hpp"

using namespace roofline::core;

TEST_CASE("bound: the time of a transfer is that of its tightest cut, or of its hops") {
    auto on = make_slice(*find_machine("tpu-v5e"), "4x4");
    REQUIRE(on.has_value());
    const auto gather = rooted_load(*on, CollectiveKind::gather, Chip{{0, 0}});
    // 15/16 of 16 GiB over two links of 50 GB/s; six hops of a microsecond.
    const auto time = time_of(*gather, *on, 131072.0 * 131072.0);
    REQUIRE(time.has_value());
    CHECK(time->lower_s == approx(0.1610612736));
    CHECK(time->upper_s == approx(0.1610612736 + 6e-6));
    CHECK(!time->latency_bound);
    const auto byte = time_of(*send_load(*on, Chip{{0, 0}}, Chip{{3, 3}}), *on, 1);
    CHECK(byte->lower_s == approx(6e-6));
    CHECK(byte->latency_bound);
    // Nodes of eight: 450 GB/s and a NIC of 50 per chip. Eight NICs leave the node together; from one chip to its
    // neighbour the switch's port is used, and the NIC as well.
    const auto nodes = make_slice(*find_machine("h100-sxm"), "8x16");
    REQUIRE(nodes.has_value());
    CHECK(time_of(*send_load(*nodes, Chip{{0, 0}}, Chip{{5, 9}}), *nodes, 4e9)->lower_s == approx(0.01));
    CHECK(time_of(*send_load(*nodes, Chip{{0, 0}}, Chip{{5, 0}}), *nodes, 4e9)->lower_s == approx(4.0 / 500));
    on->machine.network[0].link_bandwidth.value.reset();
    CHECK(!time_of(*gather, *on, 1).has_value());
}

TEST_CASE("bound: a message with a root is priced by its tightest cut") {
    System nodes;
    nodes.slice = *make_slice(*find_machine("h100-sxm"), "8x16");
    nodes.mesh = place_mesh(nodes.slice, {{"X", 8}, {"Y", 16}}).value();
    const auto lower = [&](const Message& message) {
        const auto load = load_of(message, nodes);
        REQUIRE_MESSAGE(load.has_value(), to_text(load.error()));
        REQUIRE(load->tiers.size() == 1);
        return std::pair(name_of(load->tiers[0], nodes).id, time_of(*load, nodes, 4e9)->lower_s);
    };
    // To another node over eight NICs of 50 GB/s; inside one over the port of 450 and the NIC.
    const MeshPlace here{{"X", 0}, {"Y", 0}};
    CHECK(lower({CollectiveKind::send, {}, {}, {}, here, {{"X", 5}, {"Y", 9}}}) ==
          std::pair<std::string, double>("ib", 0.01));
    const auto beside = lower({CollectiveKind::send, {}, {}, {}, here, {{"X", 5}}});
    CHECK(beside.first == "nvlink+ib");
    CHECK(beside.second == approx(0.008));
    // A gather of 128 parts: 127 enter the chip at 500 GB/s, 120 enter its node at 400.
    const auto gathered = lower({CollectiveKind::gather, {"X", "Y"}, {}, {}, {}, here});
    CHECK(gathered.first == "ib");
    CHECK(gathered.second == approx(4e9 * 120 / 128 / 400e9));
    // If each node has 8 parts, the bottleneck is the 7 that the chip lacks.
    const auto inside = lower({CollectiveKind::gather, {"X"}, {}, {}, {}, here});
    CHECK(inside.first == "nvlink+ib");
    CHECK(inside.second == approx(4e9 * 7 / 8 / 500e9));
    CHECK(load_of({CollectiveKind::send, {}, {}, {}, here, {{"Z", 5}}}, nodes).error().code == "unknown_axis");
    // Without the NIC's rate the cuts that need it are ignored, and there is no other one.
    nodes.slice.machine.network[1].chip_bandwidth.value.reset();
    const auto unknown = load_of({CollectiveKind::send, {}, {}, {}, here, {{"X", 5}}}, nodes);
    CHECK(!time_of(*unknown, nodes, 1).has_value());
}

TEST_CASE("bound: transfers over the same links in the same direction add up, and overlap with all others") {
    System torus;
    torus.slice = *make_slice(*find_machine("tpu-v5e"), "4x4");
    torus.mesh = place_mesh(torus.slice, {{"X", 4}, {"Y", 4}}).value();
    const Polynomial bytes(1'000'000'000);
    const MeshPlace corner{{"X", 0}, {"Y", 0}};
    const MeshPlace inside{{"X", 1}, {"Y", 1}};
    const Message gather{CollectiveKind::gather, {"X", "Y"}, "A", bytes, {}, corner};
    const Message send{CollectiveKind::send, {}, "B", bytes, inside, corner};
    const Message back{CollectiveKind::send, {}, "C", bytes, corner, inside};
    const Message all{CollectiveKind::all_gather, {"X"}, "D", bytes, {}, {}};
    const auto times = [&](const std::vector<Message>& messages) {
        Work work;
        for (const Message& message : messages) work.messages.push_back({message, Polynomial(1)});
        Pricing pricing;
        REQUIRE(price_network(pricing, work, torus).has_value());
        REQUIRE(pricing.resources.size() == 1);
        const CompiledTimes compiled(pricing, {}, {});
        std::vector<double> seconds(compiled.places());
        const Bounds bounds = compiled.evaluate({}, seconds);
        return std::pair(bounds.lower / (1e9 / 50e9), bounds.upper / (1e9 / 50e9));
    };
    const auto near = [](double value) { return approx(value).epsilon(1e-3); };  // hops take microseconds
    // Into the corner over two links: 15/16 of one and all of the other.
    CHECK(times({gather, send}).first == near((15.0 / 16 + 1) / 2));
    // As much goes out of it in the other direction at the same time.
    CHECK(times({gather, back}).first == near(1.0 / 2));
    CHECK(times({gather, back}).second == near((15.0 / 16 + 1) / 2));
    // An all-gather along X brings 3/4 of its array into the corner over one link; help from the other link is not
    // counted.
    CHECK(times({gather, all}).first == near(3.0 / 4));
    CHECK(times({gather, all}).second == near(15.0 / 32 + 3.0 / 4));
    CHECK(times({all, all}).first == near(3.0 / 2));
}

TEST_CASE("bound: on a switch a permute goes through the ports that collectives use, on a torus over other links") {
    const auto lower = [](const char* machine, const char* shape, const std::vector<Message>& messages) {
        System system;
        system.slice = *make_slice(*find_machine(machine), shape);
        system.mesh = place_mesh(system.slice, {{"X", 4}, {"Y", 2}}).value();
        Work work;
        for (const Message& message : messages) work.messages.push_back({message, Polynomial(1)});
        Pricing pricing;
        REQUIRE(price_network(pricing, work, system).has_value());
        const CompiledTimes times(pricing, {}, {});
        std::vector<double> seconds(times.places());
        return times.evaluate({}, seconds).lower;
    };
    const Polynomial bytes(3'600'000'000);
    const Message gather{CollectiveKind::all_gather, {"X"}, "A", bytes, {}, {}};
    Message shift{CollectiveKind::permute, {"X"}, "B", bytes, {}, {}};
    shift.hops = 1;
    Message other{CollectiveKind::permute, {"Y"}, "C", bytes, {}, {}};
    // Through a port of 450 GB/s: 3/4 of 3.6 GB gathered, a quarter handed to the next chip, half of it to the other of
    // two.
    CHECK(lower("h100-sxm", "8", {gather}) == approx(0.006));
    CHECK(lower("h100-sxm", "8", {shift}) == approx(0.002));
    CHECK(lower("h100-sxm", "8", {other}) == approx(0.004));
    CHECK(lower("h100-sxm", "8", {gather, shift}) == approx(0.008));
    CHECK(lower("h100-sxm", "8", {shift, other}) == approx(0.006));
    CHECK(lower("h100-sxm", "8", {gather, shift, other}) == approx(0.012));
    // On a torus one that goes along Y leaves the links along X to the gather.
    const double alone = lower("tpu-v5e", "4x2", {gather});
    CHECK(lower("tpu-v5e", "4x2", {gather, other}) == approx(std::max(alone, lower("tpu-v5e", "4x2", {other}))));
}
