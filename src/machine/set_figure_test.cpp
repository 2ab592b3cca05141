#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "machine/machine.hpp"

using namespace roofline::core;

namespace {

Machine adjusted_toy() {
    auto machine = parse_machine(R"(
id = "toy"
name = "Toy"
[clock]
value = "2 GHz"
source = "s"
[[matmul]]
dtype = "bf16"
value = "100 TFLOP/s"
source = "s"
confidence = "C"
note = "from the sheet"
alternatives = [{ value = "90 TFLOP/s", source = "t" }]
[[vector]]
dtype = "f32"
value = "4 TFLOP/s"
source = "s"
[[memory]]
level = "hbm"
capacity = { value = "16 GiB", source = "s" }
bandwidth = { value = "800 GB/s", source = "s" }
[[memory]]
level = "vmem"
capacity = { value = "8 MiB", source = "s" }
[[network]]
tier = "ici"
topology = "torus2d"
links = 4
link_bandwidth = { value = "50 GB/s", source = "s" }
chip_bandwidth = { value = "200 GB/s", source = "s" }
effective_link_bandwidth = { value = "45 GB/s", source = "s" }
[[network]]
tier = "nvlink"
topology = "switch"
links = 18
link_bandwidth = { value = "25 GB/s", source = "s" }
chip_bandwidth = { value = "450 GB/s", source = "s" }
)",
                                 "toy.toml");
    REQUIRE_MESSAGE(machine.has_value(), to_text(machine.error()));
    return *machine;
}

Error assignment_error(std::string_view assignment) {
    Machine machine = adjusted_toy();
    const Status status = set_figure(machine, assignment);
    REQUIRE_FALSE(status.has_value());
    CHECK(machine.changes.empty());
    return status.error();
}

}  // namespace

TEST_CASE("an absolute figure replaces the file's and is marked as a what-if") {
    Machine machine = adjusted_toy();
    REQUIRE(set_figure(machine, "hbm.bandwidth=3TB/s").has_value());
    const Figure<Bandwidth>& figure = machine.level("hbm")->bandwidth;
    CHECK(figure.value->value == 3e12);
    CHECK(figure.what_if);
    CHECK_FALSE(figure.low_confidence());
    REQUIRE(machine.changes.size() == 1);
    CHECK(machine.changes[0].path == "hbm.bandwidth");
    CHECK(machine.changes[0].before == "800 GB/s");
    CHECK(machine.changes[0].after == "3 TB/s");
}

TEST_CASE("a relative figure multiplies; a bare number is in base units; spaces are ignored") {
    Machine machine = adjusted_toy();
    REQUIRE(set_figure(machine, "matmul.bf16=*2").has_value());
    CHECK(machine.peak(Unit::matmul, Dtype::bf16)->rate.value->value == 200e12);
    CHECK(machine.peak(Unit::matmul, Dtype::bf16)->rate.alternatives.empty());  // they are about another number
    REQUIRE(set_figure(machine, " hbm.bandwidth = 8.1e11 ").has_value());
    CHECK(machine.level("hbm")->bandwidth.value->value == 8.1e11);
    REQUIRE(set_figure(machine, "hbm.capacity = 32 GiB").has_value());
    CHECK(machine.level("hbm")->capacity.value->value == 34359738368.0);
    REQUIRE(set_figure(machine, "hbm.capacity = *0.5").has_value());
    CHECK(machine.level("hbm")->capacity.value->value == 17179869184.0);
}

TEST_CASE("a figure that the machine lacks can be set, but not multiplied") {
    Machine machine = adjusted_toy();
    REQUIRE(set_figure(machine, "vmem.bandwidth=10TB/s").has_value());
    CHECK(machine.changes[0].before == "none");
    REQUIRE(set_figure(machine, "matmul.int8=2e14").has_value());
    CHECK(machine.peak(Unit::matmul, Dtype::int8)->rate.value->value == 2e14);
    CHECK(machine.peak(Unit::matmul, Dtype::int8)->accumulator == Dtype::int32);
    REQUIRE(set_figure(machine, "power=300 W").has_value());
    CHECK(machine.power.value->value == 300);
    REQUIRE(set_figure(machine, "pcie.bandwidth=64 GB/s").has_value());
    CHECK(machine.host->bandwidth.value->value == 64e9);
    CHECK(assignment_error("power=*2").code == "no_figure");
    CHECK(assignment_error("matmul.int8=*2").code == "no_figure");
    CHECK(assignment_error("pcie.bandwidth=*2").code == "no_figure");
}

TEST_CASE("a rate set for one kind of fp8 applies to fp8 arithmetic") {
    Machine machine = adjusted_toy();
    REQUIRE(set_figure(machine, "matmul.e4m3=4e14").has_value());
    const auto assigned = assign(machine, Unit::matmul, Dtype::fp8);
    REQUIRE(assigned.has_value());
    CHECK(assigned->peak->rate.value->value == 4e14);
}

TEST_CASE("prices are per hour") {
    Machine machine = adjusted_toy();
    REQUIRE(set_figure(machine, "price=2").has_value());
    CHECK(machine.price->value * 3600 == approx(2));
    REQUIRE(set_figure(machine, "price=*1.5").has_value());
    CHECK(machine.price->value * 3600 == approx(3));
}

TEST_CASE(
    "a tier's bandwidth is that of one link of a torus and of the whole chip elsewhere; other rates scale along") {
    Machine machine = adjusted_toy();
    REQUIRE(set_figure(machine, "ici.bandwidth=100 GB/s").has_value());
    CHECK(machine.tier("ici")->link_bandwidth.value->value == 100e9);
    CHECK(machine.tier("ici")->chip_bandwidth.value->value == 400e9);
    CHECK(machine.tier("ici")->effective_link_bandwidth.value->value == 90e9);
    REQUIRE(set_figure(machine, "nvlink.bandwidth=*2").has_value());
    CHECK(machine.tier("nvlink")->chip_bandwidth.value->value == 900e9);
    CHECK(machine.tier("nvlink")->link_bandwidth.value->value == 50e9);
    REQUIRE(set_figure(machine, "ici.latency=2 us").has_value());
    CHECK(machine.tier("ici")->hop_latency.value->value == approx(2e-6));
}

TEST_CASE("compute rates change with the clock, memory rates do not") {
    Machine machine = adjusted_toy();
    REQUIRE(set_figure(machine, "clock=1 GHz").has_value());
    CHECK(machine.peak(Unit::matmul, Dtype::bf16)->rate.value->value == 50e12);
    CHECK(machine.peak(Unit::vector, Dtype::f32)->rate.value->value == 2e12);
    CHECK(machine.level("hbm")->bandwidth.value->value == 800e9);
    CHECK(machine.changes.size() == 3);
    machine.clock.value.reset();
    CHECK(set_figure(machine, "clock=1 GHz").error().code == "no_figure");
}

TEST_CASE("errors name the nearest path or the right unit, and change nothing") {
    CHECK(assignment_error("hbm.bandwith=3TB/s").hint == "did you mean `hbm.bandwidth`?");
    CHECK(assignment_error("mamtul.bf16=3").hint == "did you mean `matmul.bf16`?");
    CHECK(assignment_error("l2.bandwidth=3TB/s").code == "unknown_path");  // this machine has no L2
    CHECK(assignment_error("dcn.bandwidth=3TB/s").code == "unknown_path");
    CHECK(assignment_error("hbm=3TB/s").code == "unknown_path");
    CHECK(assignment_error("pcie.latency=1 us").code == "unknown_path");
    for (const std::string_view bad : {"", "=", "hbm.bandwidth", "hbm.bandwidth=", "=3", "  = 3"}) {
        CAPTURE(bad);
        CHECK(assignment_error(bad).code == "bad_assignment");
    }
    for (const std::string_view bad :
         {"hbm.bandwidth=*", "hbm.bandwidth=*0", "hbm.bandwidth=*-1", "hbm.bandwidth=*nan", "hbm.bandwidth=*2x",
          "hbm.bandwidth=*1e300", "hbm.bandwidth=*1e-300", "hbm.bandwidth=-3", "hbm.bandwidth=3 FLOP/s",
          "hbm.bandwidth=fast", "hbm.bandwidth=1e300", "hbm.bandwidth=0"}) {
        CAPTURE(bad);
        CHECK_FALSE(assignment_error(bad).hint.empty());
    }
}

TEST_CASE("the rate of passes follows from their unit, and the precision determines their number") {
    const auto parsed = parse_machine(R"(
id = "toy"
name = "Toy"
[[matmul]]
dtype = "bf16"
value = "120 TFLOP/s"
source = "s"
[[matmul]]
dtype = "f32"
of = "bf16"
passes = 1
source = "x"
[[vector]]
dtype = "f32"
value = "1 TFLOP/s"
source = "s"
)",
                                      "toy.toml");
    REQUIRE(parsed.has_value());
    Machine machine = *parsed;
    const auto rate = [&] { return assign(machine, Unit::matmul, Dtype::f32)->peak->rate.value->value; };
    CHECK(rate() == 120e12);
    CHECK_FALSE(assign(machine, Unit::matmul, Dtype::f32)->stands_in);
    REQUIRE(set_figure(machine, "passes.f32=6").has_value());
    CHECK(rate() == 20e12);
    REQUIRE(set_figure(machine, "matmul.bf16=*2").has_value());
    CHECK(rate() == 40e12);
    REQUIRE(set_figure(machine, "passes.f32=3").has_value());
    CHECK(rate() == 80e12);
    CHECK(set_figure(machine, "passes.f32=2").error().code == "bad_value");
    CHECK(set_figure(machine, "passes.f16=4").error().code == "unknown_path");
    REQUIRE(set_figure(machine, "matmul.f32=5TFLOP/s").has_value());  // a separate unit
    CHECK(rate() == 5e12);
    CHECK(assign(machine, Unit::vector, Dtype::f32)->peak->rate.value->value == 1e12);
}
