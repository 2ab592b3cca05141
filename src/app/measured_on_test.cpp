#include "app/system_option.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "bound/network_pricing.hpp"

using namespace roofline::core;

namespace {

constexpr std::string_view box = R"(id = "box"
name = "Box"
[sources]
s = "nobody"
[[matmul]]
dtype = "bf16"
value = "1 TFLOP/s"
source = "s"
[[network]]
tier = "bridge"
topology = "pair"
domain = 2
links = 4
link_bandwidth = { value = "10 GB/s", source = "s" }
chip_bandwidth = { value = "40 GB/s", source = "s" }
[[network]]
tier = "peer"
topology = "pcie_tree"
domain = 8
chip_bandwidth = { value = "20 GB/s", source = "s" }
[[network]]
tier = "ib"
topology = "nic"
chip_bandwidth = { value = "5 GB/s", source = "s" }
)";

MeasuredCollective row(std::string system, std::int64_t members, std::int64_t nodes,
                       CollectiveKind kind = CollectiveKind::all_gather) {
    MeasuredCollective result;
    result.system = std::move(system);
    result.members = members;
    result.nodes = nodes;
    result.kind = kind;
    return result;
}

MeasuredSystems on(std::string name, std::vector<std::string> sets = {}) {
    auto systems = measured_systems({{std::move(name), {}, {}}}, sets);
    REQUIRE(systems);
    return std::move(*systems);
}

MeasuredSystems on_box(std::string slice = "") {
    auto systems = measured_systems({{"box.toml", std::string(box), std::move(slice)}}, {});
    REQUIRE(systems);
    return std::move(*systems);
}

std::string slice_of(MeasuredSystems& systems, const MeasuredCollective& row) {
    const Result<MeasuredGroup>& group = systems.group(row);
    return group ? group->on->slice() : group.error().message;
}

}  // namespace

TEST_CASE("rows find the slice that their table names") {
    auto systems = measured_systems({}, {});
    REQUIRE(systems);
    CHECK(slice_of(*systems, row("h100_sxm", 16, 2)) == "h100-sxm5:8x2");
    CHECK(slice_of(*systems, row("GB200 NVL72", 18, 5)) == "gb200:18");
    CHECK(slice_of(*systems, row("H200", 4, 1)) == "h200-sxm:4");
    CHECK(slice_of(*systems, row("tpu-v5e:4x4", 16, 1)) == "tpu-v5e:4x4");
    CHECK(slice_of(*systems, row("tpu-v5e:4x4", 8, 1)) == "8 devices are not the 16 chips of tpu-v5e:4x4");
    CHECK(slice_of(*systems, row("tpu-v5e", 8, 1)).find("is a torus") != std::string::npos);
    CHECK(slice_of(*systems, row("nobody's", 8, 1)) == "the system `nobody's` is unknown");
    CHECK(slice_of(*systems, row("a100_80g", 2, 1, CollectiveKind::permute)) == "a100-sxm4-80:2");
    MeasuredCollective pairs = row("a100_80g", 2, 1, CollectiveKind::permute);
    pairs.link = "NVLink3 pairwise";
    CHECK(slice_of(*systems, pairs).find("permute on a100-pairs is left out") == 0);
    pairs.kind = CollectiveKind::all_reduce;
    CHECK(slice_of(*systems, pairs) == "a100-pcie-80:2");
}

TEST_CASE("--on says where all rows were measured") {
    MeasuredSystems any = on("h100-sxm");
    CHECK(slice_of(any, row("nobody's", 16, 2)) == "h100-sxm5:8x2");
    MeasuredSystems one = on("h100-sxm:8");
    CHECK(slice_of(one, row("nobody's", 8, 1)) == "h100-sxm5:8");
    CHECK(slice_of(one, row("nobody's", 4, 1)) == "4 devices are not the 8 chips of h100-sxm5:8");
    MeasuredSystems named = on("a100_sxm");
    CHECK(slice_of(named, row("nobody's", 2, 2)) == "a100-sxm4-80:1x2");
    MeasuredSystems cloud = on("AWS p4de.24xlarge A100-80GB x8, 4x100G EFA");
    const Result<MeasuredGroup>& group = cloud.group(row("nobody's", 2, 2));
    REQUIRE(group);
    CHECK(time_of(group->load, group->on->system, 12.5e9)->lower_s == approx(1));  // half of it at 6.25 GB/s
    MeasuredSystems any_box = on_box();
    CHECK(slice_of(any_box, row("", 2, 1)) == "box:2");
    CHECK(slice_of(any_box, row("", 8, 1)) == "box:2x4");
    CHECK(slice_of(any_box, row("", 16, 2)) == "box:2x4x2");
    CHECK(slice_of(any_box, row("", 2, 2)) == "box:1x1x2");
    CHECK(slice_of(any_box, row("", 9, 1)) == "9 devices on 1 node do not fit Box");
    MeasuredSystems slice = on_box("2x4");
    CHECK(slice_of(slice, row("", 8, 1)) == "box:2x4");
}

TEST_CASE("requests that mean no one machine are refused") {
    CHECK(measured_systems({{"h100", {}, {}}, {"h200", {}, {}}}, {}).error().code == "bad_request");
    CHECK(measured_systems({}, {"nvlink.bandwidth=1GB/s"}).error().code == "bad_request");
    CHECK(measured_systems({{"h100-sxn", {}, {}}}, {}).error().code == "unknown_machine");
    CHECK(measured_systems({{"h100-sxm", {}, {}}}, {"nvlnk.bandwidth=1GB/s"}).error().code == "unknown_path");
    CHECK(measured_systems({{"h100-sxm:9", {}, {}}}, {}).error().code == "bad_slice");
}

TEST_CASE("what is priced is the whole array of the group") {
    MeasuredSystems systems = on_box();
    const auto lower = [&](CollectiveKind kind, std::int64_t members, std::int64_t nodes) {
        const Result<MeasuredGroup>& group = systems.group(row("", members, nodes, kind));
        REQUIRE(group);
        return time_of(group->load, group->on->system, 40e9)->lower_s;
    };
    // Two chips share four links of 10 GB/s; each misses half of 40 GB.
    CHECK(lower(CollectiveKind::all_gather, 2, 1) == approx(0.5));
    // Between nodes a NIC of 5 GB/s carries it.
    CHECK(lower(CollectiveKind::all_gather, 2, 2) == approx(4.0));
    // Of two pairs, each half crosses PCIe: a pair misses 20 GB, and each of its two chips fetches 10 GB.
    CHECK(lower(CollectiveKind::all_gather, 4, 1) == approx(0.5));
    CHECK(lower(CollectiveKind::permute, 2, 1) == approx(0.5));
    const auto rates = systems.rates();
    CHECK(rates.size() == 3);
}
