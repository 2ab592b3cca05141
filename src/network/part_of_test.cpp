#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "machine/machine.hpp"
#include "machine/machine_text.hpp"
#include "network/slice.hpp"

namespace roofline::core {

namespace {

constexpr const char* two_cores = R"(
id = "two"
name = "Two cores"
kind = "cpu"
cores = 2
[[matmul]]
dtype = "f32"
value = "240 GFLOP/s"
source = "invented"
[[memory]]
level = "hbm"
capacity = { value = "16 GiB", source = "invented" }
bandwidth = { value = "40 GB/s", source = "invented" }
[[memory]]
level = "l3"
capacity = { value = "32 MiB", source = "invented" }
[[memory]]
level = "l2"
scope = "core"
instances = 2
capacity = { value = "1 MiB", source = "invented" }
[[network]]
tier = "shm"
topology = "switch"
domain = 4
parts = 4
chip_bandwidth = { value = "8 GB/s", source = "invented" }
hop_latency = { value = "1 us", source = "invented" }
)";

}  // namespace

TEST_CASE("ranks that share a machine each have a part of its rates and memory") {
    const auto machine = parse_machine(two_cores, "two.toml");
    REQUIRE_MESSAGE(machine, to_text(machine.error()));
    const auto half = make_slice(*machine, "2");
    REQUIRE(half);
    CHECK(half->machine.cores == 1);
    CHECK(half->machine.peaks.front().rate.value->value == approx(120e9));
    CHECK(half->machine.level("hbm")->bandwidth.value->value == approx(20e9));
    CHECK(half->machine.level("hbm")->total_capacity()->value == approx(8 * 1073741824.0));
    CHECK(half->machine.level("l3")->total_capacity()->value == approx(16 * 1048576.0));
    CHECK(half->machine.level("l2")->instances == 1);
    CHECK(half->machine.level("l2")->total_capacity()->value == approx(1048576.0));
    CHECK(half->network(half->tiers.front()).chip_bandwidth.value->value == approx(8e9));
    CHECK(half->notes.back().find("one of 2 equal parts") != std::string::npos);

    const auto quarter = make_slice(*machine, "4");
    REQUIRE(quarter);
    CHECK(quarter->machine.peaks.front().rate.value->value == approx(60e9));
    CHECK(quarter->machine.level("l2")->total_capacity()->value == approx(524288.0));
    CHECK(quarter->machine.cores == 0);

    const auto whole = make_slice(*machine, "1");
    REQUIRE(whole);
    CHECK(whole->machine.peaks.front().rate.value->value == approx(240e9));
}

TEST_CASE("parts are written and read") {
    const auto machine = parse_machine(two_cores, "two.toml");
    REQUIRE(machine);
    const auto again = parse_machine(machine_text(*machine), "again.toml");
    REQUIRE_MESSAGE(again, to_text(again.error()));
    CHECK(again->network.front().parts == 4);
}

}  // namespace roofline::core
