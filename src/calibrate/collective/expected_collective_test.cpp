#include "calibrate/collective/expected_collective.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace roofline::core;

namespace {

/// A model that always predicts `us` microseconds.
CalibratedCollective model(std::string software, double us, std::string variant = {}, std::string dtypes = {}) {
    CalibratedCollective result;
    result.key = {
        "s", "nvlink", CollectiveKind::all_reduce, std::move(software), std::move(variant), std::move(dtypes)};
    if (result.key.dtypes.empty()) result.key.dtypes = "float";
    result.link = {"switch", 8, 400e9};
    result.model.shared.segments = {{us * 1e-6, 0, 0, 0, 0}};
    result.members = {2, 8};
    result.rows = 40;
    result.errors.sizes = 0.05;
    result.errors.members = 0.1;
    result.errors.relative = 0.15;
    result.errors.far = 0.3;
    return result;
}

CalibratedCollective at(CalibratedCollective result, double rate, std::int64_t domain = 8) {
    result.link.bytes_per_s = rate;
    result.link.domain = domain;
    return result;
}

CollectiveRequest request(std::string machine, std::int64_t members = 8) {
    CollectiveRequest result;
    result.machine = std::move(machine);
    result.tiers = "nvlink";
    result.link = {"switch", 8, 400e9};
    result.kind = CollectiveKind::all_reduce;
    result.point = {members, 1e6, 1e-6, 1e-6};
    return result;
}

double us(Calibrations& all, const CollectiveRequest& asked) {
    const auto expected = all.expected(asked);
    REQUIRE(expected);
    return expected->seconds * 1e6;
}

}  // namespace

TEST_CASE("versions are compared by their numbers") {
    CHECK(older("2.9.1", "2.29"));
    CHECK(older("2.29", "2.29.2"));
    CHECK(older("1.3.0rc9", "1.3.0rc20"));
    CHECK_FALSE(older("2.29.2", "2.29.2"));
    CHECK_FALSE(older("2.29", "2.9"));
    CHECK(older("99999999999999999999", "99999999999999999999.1"));
    CHECK(is_version("nccl 2.29.2", "NCCL-2.29"));
    CHECK_FALSE(is_version("nccl 2.29.2", "nccl-2.2"));
    CHECK_FALSE(is_version("rccl 2.29.2", "nccl"));
}

TEST_CASE("the newest version of a communication library speaks where none is named") {
    Calibrations all({{"m",
                       {},
                       {},
                       {model("nccl 2.9.1", 1), model("nccl 2.29.2", 2), model("xla", 3), model("torch", 4),
                        model("", 5), model("vllm 0.9", 6, "custom eager"), model("vllm 0.9", 7, "custom graph"),
                        model("nccl 2.29.2", 8, "", "integer")}}});
    CollectiveRequest asked = request("m");
    CHECK(us(all, asked) == approx(2));
    asked.software = "nccl-2.9";
    CHECK(us(all, asked) == approx(1));
    asked.software = "nccl 2.20";  // not measured: the newest version before it
    CHECK(us(all, asked) == approx(1));
    asked.software = "nccl 2.1";  // there is none before it: the oldest version
    CHECK(us(all, asked) == approx(1));
    asked.software = "xla";
    CHECK(us(all, asked) == approx(3));
    asked.software = "";  // a table that does not specify the software
    CHECK(us(all, asked) == approx(5));
    asked.software = "vllm";  // its own kernels, as they run in production
    CHECK(us(all, asked) == approx(7));
    asked.variant = "custom eager";
    CHECK(us(all, asked) == approx(6));
    asked = request("m");
    asked.dtype = Dtype::int8;
    CHECK(us(all, asked) == approx(8));
    asked.software = "gloo";
    CHECK_FALSE(all.expected(asked)->software_found);
}

TEST_CASE("a library whose measurements reach the group goes before a newer one whose do not") {
    CalibratedCollective wide = model("xla", 50);
    wide.members = {4, 72};
    Calibrations all({{"m", {}, {}, {model("nccl 2.29.2", 2), wide}}});
    CHECK(us(all, request("m", 8)) == approx(2));
    CHECK(us(all, request("m", 64)) == approx(50));
}

TEST_CASE("errors are those of sizes held out, of counts held out where the count was not measured") {
    CalibratedCollective alone = model("nccl 2.29.2", 2);
    alone.key.kind = CollectiveKind::all_gather;
    alone.key.dtypes = "";
    alone.errors.members.reset();
    Calibrations all({{"m", {}, {}, {model("nccl 2.29.2", 2), alone}}});
    CHECK(all.expected(request("m", 8))->error == 0.05);
    CHECK(all.expected(request("m", 8))->counted);
    CHECK(all.expected(request("m", 6))->error == 0.1);
    CHECK_FALSE(all.expected(request("m", 6))->counted);
    CollectiveRequest gather = request("m", 6);
    gather.kind = CollectiveKind::all_gather;
    CHECK(all.expected(gather)->error == 0.4);  // nothing to estimate it from
}

TEST_CASE("machines of the same vendor precede others with the same links") {
    // L4 and L40S are NVIDIA's, the Arc Pro B60 Intel's; all of them on PCIe 4 x16 or as fast
    Calibrations all(
        {{"arc-pro-b60", {}, {}, {model("oneccl 2021.17", 2)}}, {"l40s", {}, {}, {model("nccl 2.29", 8)}}});
    const auto by_nvidia = all.expected(request("l4"));
    REQUIRE(by_nvidia);
    CHECK(by_nvidia->machines == std::vector<std::string>{"l40s"});
    CHECK(by_nvidia->seconds == approx(8e-6));
    // where no machine of the vendor was measured, and where the vendor is unknown, all count
    CHECK(us(all, request("mi210")) == approx(std::sqrt(2.0 * 8)));
    CHECK(us(all, request("mine")) == approx(std::sqrt(2.0 * 8)));
}

// How fast cards are behind a host's bridges says nothing of another host, whatever the rate of their slots.
TEST_CASE("over PCIe every measured host counts once, whatever its link rate, with the error between hosts") {
    const auto host = [](double us, double rate, double error) {
        CalibratedCollective on_host = at(model("nccl 2.29", us), rate);
        on_host.link.topology = "pcie_tree";
        on_host.errors.relative = error;
        on_host.errors.far.reset();
        return on_host;
    };
    Calibrations all({{"a", {}, {}, {host(16, 31.5e9, 0.4)}},
                      {"b", {}, {}, {host(4, 31.5e9, 0.5)}},
                      {"c", {}, {}, {host(1, 63e9, 1.6)}}});
    for (const double rate : {31.5e9, 63e9}) {
        CollectiveRequest asked = request("new");
        asked.link = {"pcie_tree", 8, rate};
        const auto expected = all.expected(asked);
        REQUIRE(expected);
        CHECK(expected->machines == std::vector<std::string>{"a", "b", "c"});
        CHECK(expected->seconds == approx(4e-6));  // the cube root of 16 x 4 x 1
        CHECK(expected->error == 1.6);
    }
    // a file from before hosts were compared has the error of machines with other link rates, which is the same
    CalibratedCollective earlier = host(4, 63e9, 0);
    earlier.errors.relative.reset();
    earlier.errors.far = 1.2;
    Calibrations old({{"a", {}, {}, {earlier}}});
    CollectiveRequest asked = request("new");
    asked.link = {"pcie_tree", 8, 31.5e9};
    CHECK(old.expected(asked)->error == 1.2);
    // a group size that was not measured has at least the error of group sizes held out
    CalibratedCollective by_size = host(4, 31.5e9, 0.4);
    by_size.errors.members = 1.3;
    Calibrations sizes({{"a", {}, {}, {by_size}}});
    asked.point.members = 6;
    CHECK(sizes.expected(asked)->error == 1.3);
}

TEST_CASE("where no machine with the same rate could be left out, the error is at least that of other rates") {
    CalibratedCollective only = model("nccl 2.29", 8);
    only.errors.relative.reset();
    only.errors.far = 0.37;
    Calibrations all({{"l40s", {}, {}, {only}}});
    CHECK(all.expected(request("l4"))->error == 0.37);
    only.errors.far = 0.07;  // twice the error of the model itself, 5 %
    Calibrations close({{"l40s", {}, {}, {only}}});
    CHECK(close.expected(request("l4"))->error == approx(0.1));
}

TEST_CASE("a machine without models takes those of its nearest relatives") {
    Calibrations all({{"twin", {}, {}, {model("nccl 2.29.2", 2)}},
                      {"large", {}, {}, {at(model("nccl 2.29.2", 100), 400e9, 72)}},
                      {"old", {}, {}, {at(model("nccl 2.29.2", 8), 200e9)}},
                      {"older", {}, {}, {at(model("nccl 2.29.2", 32), 100e9)}},
                      {"older too", {}, {}, {at(model("nccl 2.29.2", 2), 100e9)}}});
    // the same rate and domain
    const auto twin = all.expected(request("new"));
    REQUIRE(twin);
    CHECK(twin->transferred);
    CHECK(twin->seconds == approx(2e-6));
    CHECK(twin->machines == std::vector<std::string>{"twin"});
    CHECK(twin->error == 0.15);
    // the same rate
    CollectiveRequest other_domain = request("new");
    other_domain.link.domain = 16;
    CHECK(us(all, other_domain) == approx(std::sqrt(2.0 * 100)));
    // other rates have one vote each. 200 GB/s: 8; 100 GB/s: sqrt(32 * 2) = 8; 400 GB/s: sqrt(2 * 100)
    CollectiveRequest other_rate = request("new");
    other_rate.link.bytes_per_s = 800e9;
    const auto far = all.expected(other_rate);
    REQUIRE(far);
    CHECK(far->seconds * 1e6 == approx(std::cbrt(8 * 8 * std::sqrt(200.0))));
    CHECK(far->error == 0.3);
    CHECK_FALSE(far->same_rate);
    // another kind of fabric
    CollectiveRequest mesh = request("new");
    mesh.link.topology = "full_mesh";
    CHECK_FALSE(all.expected(mesh));
    mesh = request("new");
    mesh.tiers = "nvlink+ib";
    CHECK_FALSE(all.expected(mesh));
    mesh.tiers = "xgmi";
    CHECK_FALSE(all.expected(mesh));
}

TEST_CASE("relatives that were measured with as many members go before those with the same domain") {
    CalibratedCollective few = model("nccl 2.29.2", 2);
    few.members = {2, 4};
    Calibrations all({{"few", {}, {}, {few}}, {"many", {}, {}, {at(model("nccl 2.29.2", 9), 400e9, 72)}}});
    CHECK(us(all, request("new", 4)) == approx(2));
    CHECK(us(all, request("new", 8)) == approx(9));
}

TEST_CASE("constants of links scale with the rate, those of steps do not") {
    CalibratedCollective slow = at(model("nccl 2.29.2", 10), 100e9);
    slow.model.shared.segments = {{10e-6, 0, 0.5, 0, 0}};
    Calibrations all({{"slow", {}, {}, {slow}}});
    CollectiveRequest fast = request("fast");
    fast.point.wire_s = 1e-3;  // at the rate of the fast link
    CHECK(us(all, fast) == approx(10 + 2000));
}

TEST_CASE("models of collectives that move the same bytes stand in for those without measurements") {
    CalibratedCollective all_reduce = model("nccl 2.29.2", 10);
    all_reduce.key.tiers = "nvlink+ib";
    all_reduce.model.shared.segments = {{10e-6, 0, 0.5, 0, 0}};
    CollectiveRequest gather = request("m");
    gather.kind = CollectiveKind::all_gather;
    gather.tiers = "nvlink+ib";
    gather.system = "s";  // on the measured network
    gather.point.wire_s = 1e-3;
    Calibrations alone({{"m", {}, {}, {all_reduce}}});
    const auto half = alone.expected(gather);
    REQUIRE(half);
    // an all-reduce of half the array has the same bytes on the link: 10 us, and 1 ms at half the rate. Half of one of
    // the whole array has 5 us instead. The geometric mean of both is used.
    CHECK(half->seconds * 1e6 == approx(std::sqrt((10.0 + 2000) * (5 + 2000))));
    CHECK(half->instead == CollectiveKind::all_reduce);
    CHECK(half->error == approx(0.05 + 0.4));  // there is nothing to estimate its error from
    gather.point.wire_s = 2e-3;
    CHECK(seconds_of(*half, gather.point) * 1e6 == approx(std::sqrt((10.0 + 4000) * (5 + 4000))));

    // where both were measured, the replacement gives 40 us, or half of it, for 30 us
    CalibratedCollective measured = model("nccl 2.29.2", 30);
    measured.key.kind = CollectiveKind::all_gather;
    CalibratedCollective both = model("nccl 2.29.2", 40);
    for (CalibratedCollective* each : {&measured, &both}) {
        each->least_bytes = 1024;
        each->most_bytes = 1 << 20;
    }
    Calibrations compared({{"m", {}, {}, {all_reduce}}, {"p", {}, {}, {measured, both}}});
    const auto known = compared.expected(gather);
    REQUIRE(known);
    CHECK(known->error == approx(0.05 + std::abs(40 * std::sqrt(0.5) - 30) / 30));
    // a request for the time only gives the same time with the error of the models themselves
    gather.error = false;
    const auto time = compared.expected(gather);
    REQUIRE(time);
    CHECK(time->seconds == known->seconds);
    CHECK(time->error == approx(0.05));

    CollectiveRequest one_way = gather;
    one_way.kind = CollectiveKind::permute;
    CHECK_FALSE(alone.expected(one_way));
}

// XLA's times of all-gathers include its dispatch; RCCL's times of all-reduces do not.
TEST_CASE("expected times of all collectives of a machine come from its communication library") {
    CalibratedCollective all_reduce = model("rccl 2.22", 14);
    CalibratedCollective by_xla = model("xla", 120);
    by_xla.key.kind = CollectiveKind::all_gather;
    Calibrations both({{"m", {}, {}, {all_reduce, by_xla}}});
    CollectiveRequest gather = request("m");
    gather.kind = CollectiveKind::all_gather;
    CHECK(us(both, gather) == approx(14 * std::sqrt(0.5)));
    CHECK(both.expected(gather)->instead == CollectiveKind::all_reduce);
    gather.software = "xla";
    CHECK(us(both, gather) == approx(120));
    gather.software = "rccl";
    CHECK(us(both, gather) == approx(14 * std::sqrt(0.5)));
    gather.software.reset();
    gather.point.members = 16;  // RCCL was measured in smaller groups only
    by_xla.members = {8, 16};
    Calibrations larger({{"m", {}, {}, {all_reduce, by_xla}}});
    CHECK(us(larger, gather) == approx(120));
    // the machine's own measurements are preferred to another machine's library
    Calibrations far({{"m", {}, {}, {by_xla}}, {"n", {}, {}, {all_reduce}}});
    CHECK(us(far, gather) == approx(120));
}

TEST_CASE("groups of one chip a node take the models of groups of whole nodes") {
    CalibratedCollective whole = model("nccl 2.29.2", 10);
    whole.key.tiers = "nvlink+ib";
    whole.model.shared.segments = {{10e-6, 0, 0.5, 0.25, 0}};
    Calibrations all({{"m", {}, {}, {whole}}});
    CollectiveRequest across = request("m");
    across.tiers = "ib";
    across.link = {"nic", 0, 50e9};
    across.point.wire_s = 1e-3;
    across.point.buffer_s = 1e-3;  // at 50 GB/s; an eighth of it at the rate that the model's fractions refer to
    const auto expected = all.expected(across);
    REQUIRE(expected);
    CHECK(expected->seconds * 1e6 == approx(10 + 2000 + 500));
    CHECK(expected->error == approx(0.4));
    // Of a network with links of another rate only what was measured to transfer well goes before them.
    CalibratedCollective slow = at(model("torch", 20'000), 25e9, 0);
    slow.key.tiers = "ib";
    slow.link.topology = "nic";
    const auto beside = [&](double far) {
        slow.errors.far = far;
        Calibrations two({{"m", {}, {}, {whole}}, {"n", {}, {}, {slow}}});
        return two.expected(across);
    };
    REQUIRE(beside(0.8));
    CHECK(beside(0.8)->seconds * 1e6 == approx(10 + 2000 + 500));
    CHECK(beside(0.8)->error == approx(0.4));
    REQUIRE(beside(0.2));
    CHECK(beside(0.2)->seconds * 1e6 == approx(20'000));
    across.tiers = "dcn";
    CHECK_FALSE(all.expected(across));
}

TEST_CASE("between nodes a farther model is used only if its error is smaller than a nearer one's") {
    CalibratedCollective alone = model("nccl 2.20", 40);  // one chip on each of two nodes, of a slow network
    alone.key.tiers = "ib";
    alone.key.system = "slow-cloud";
    alone.link = {"nic", 0, 25e9};
    CalibratedCollective whole = model("nccl 2.20", 10);
    whole.key.tiers = "nvlink+ib";
    whole.key.system = "cloud";
    const auto error_of = [](CalibratedCollective known, double elsewhere) {
        known.errors.elsewhere = elsewhere;
        return known;
    };
    CollectiveRequest across = request("m", 2);
    across.tiers = "ib";
    across.link = {"nic", 0, 25e9};
    across.inner_tiers = "nvlink";
    across.inner_link = {"switch", 8, 400e9};
    // the machine's own model of such groups, unless it predicts other networks clearly worse than that of whole nodes
    Calibrations alike({{"m", {}, {}, {error_of(alone, 0.6), error_of(whole, 0.45)}}});
    CHECK(us(alike, across) == approx(40));
    CHECK(alike.expected(across)->error == approx(0.6));
    CHECK(alike.expected(across)->fabric == "slow-cloud");
    Calibrations worse({{"m", {}, {}, {error_of(alone, 0.9), error_of(whole, 0.45)}}});
    CHECK(us(worse, across) == approx(10));
    CHECK(worse.expected(across)->error == approx(0.45));
    // or if it is no communication library's
    alone.key.software = "torch";
    Calibrations timed_in_torch({{"m", {}, {}, {error_of(alone, 0.46), error_of(whole, 0.45)}}});
    CHECK(us(timed_in_torch, across) == approx(10));
    Calibrations better({{"m", {}, {}, {error_of(alone, 0.44), error_of(whole, 0.45)}}});
    CHECK(us(better, across) == approx(40));
    // on the network that was measured it is the model of this network
    across.system = "slow-cloud";
    CHECK(us(worse, across) == approx(40));
    CHECK(worse.expected(across)->error == approx(0.05));
    // neither depends on the number of nodes
    across.system.clear();
    for (const std::int64_t nodes : {3, 4, 8, 16}) {
        across.point.members = nodes;
        CHECK(us(worse, across) == approx(10));
    }
    // a machine without either, and with the links of `m` in a node, takes that of whole nodes
    across.machine = "other";
    across.point.members = 2;
    const auto from_whole_nodes = worse.expected(across);
    REQUIRE(from_whole_nodes);
    CHECK(from_whole_nodes->transferred);
    CHECK(from_whole_nodes->seconds == approx(10e-6));
    // with a file of a calibration that has no such errors, that of other networks is assumed
    alone.errors.relative.reset();
    alone.errors.far.reset();
    Calibrations unknown({{"m", {}, {}, {alone}}});
    across.machine = "m";
    CHECK(unknown.expected(across)->error == approx(0.4));
}

TEST_CASE("all tori are alike, and their hops have the published latency") {
    CalibratedCollective cube = at(model("xla", 5), 100e9, 64);
    cube.key.tiers = "ici";
    cube.link.topology = "torus3d";
    cube.model.shared.steps = StepCount::hops;
    cube.errors.elsewhere = 0.6;
    Calibrations all({{"cube", {}, {}, {cube}}});
    CollectiveRequest square = request("square");
    square.tiers = "ici";
    square.link = {"torus2d", 256, 50e9};
    square.point.latency_s = 4e-6;
    const auto expected = all.expected(square);
    REQUIRE(expected);
    CHECK(expected->seconds == approx(9e-6));
    CHECK(expected->error == approx(0.6));
}

TEST_CASE("a group over two tiers is not faster than the part of it inside one") {
    // 8 chips of a node take 10 us, but the model of two nodes predicts 6 us: 16 chips must do at least the work of 8
    CalibratedCollective inner = model("nccl 2.29", 10);
    CalibratedCollective outer = model("nccl 2.20", 6);
    outer.key.tiers = "nvlink+ib";
    outer.key.system = "m-cloud";
    outer.members = {16};
    outer.errors.relative.reset();
    outer.errors.far.reset();
    Calibrations all({{"m", {}, {}, {inner, outer}}});
    CollectiveRequest asked = request("m", 16);
    asked.tiers = "nvlink+ib";
    CHECK(us(all, asked) == approx(6));
    asked.inside = {request("m", 8)};
    CHECK(us(all, asked) == approx(10));
    const auto expected = all.expected(asked);
    REQUIRE(expected);
    CHECK(inside_decides(*expected, asked.point));
    CHECK(seconds_of(*expected, asked.point) == approx(10e-6));
    // if the whole group's model predicts a longer time, that is used
    outer.model.shared.segments = {{12e-6, 0, 0, 0, 0}};
    Calibrations slower({{"m", {}, {}, {inner, outer}}});
    CHECK(us(slower, asked) == approx(12));
}

TEST_CASE("a network between nodes that was measured elsewhere has the error of transfers") {
    CalibratedCollective outer = model("nccl 2.20", 6);
    outer.key.tiers = "nvlink+ib";
    outer.key.system = "m-cloud";
    outer.errors.relative.reset();
    outer.errors.far = 0.3;
    CalibratedCollective inner = model("nccl 2.20", 6);
    inner.key.system = "m-cloud";
    Calibrations all({{"m", {}, {}, {outer, inner}}});
    CollectiveRequest asked = request("m");
    CHECK(all.expected(asked)->error == approx(0.05));  // links in a node belong to the machine
    CHECK(all.expected(asked)->fabric.empty());
    asked.tiers = "nvlink+ib";
    CHECK(all.expected(asked)->error == approx(0.3));
    CHECK(all.expected(asked)->fabric == "m-cloud");
    asked.system = "m-cloud";
    CHECK(all.expected(asked)->error == approx(0.05));
    CHECK(all.expected(asked)->fabric.empty());
}
