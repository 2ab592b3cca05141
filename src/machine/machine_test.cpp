#include "machine/machine.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

Peak peak_of(Unit unit, Dtype dtype, double rate, Dtype accumulator = Dtype::f32) {
    Peak peak;
    peak.unit = unit;
    peak.dtype = dtype;
    peak.accumulator = accumulator;
    if (rate > 0) peak.rate.value = FlopRate{rate};
    return peak;
}

double rate_of(const Machine& machine, Unit unit, Dtype dtype) {
    const auto assigned = assign(machine, unit, dtype);
    REQUIRE(assigned.has_value());
    return assigned->peak->rate.value->value;
}

}  // namespace

TEST_CASE("a figure has low confidence if it is C or D, unless the user set it") {
    Figure<Bandwidth> figure;
    for (const auto& [confidence, low] : {std::pair{'A', false}, {'B', false}, {'C', true}, {'D', true}}) {
        figure.confidence = confidence;
        CHECK(figure.low_confidence() == low);
    }
    figure.what_if = true;
    CHECK_FALSE(figure.low_confidence());
}

TEST_CASE("the capacity of a level is that of all its instances") {
    MemoryLevel level;
    CHECK_FALSE(level.total_capacity().has_value());
    level.capacity.value = Bytes{256.0 * 1024};
    level.instances = 132;
    CHECK(level.total_capacity()->value == 34603008);
}

TEST_CASE("levels and tiers are found by id") {
    Machine machine;
    machine.memory.resize(2);
    machine.memory[0].id = "hbm";
    machine.memory[1].id = "vmem";
    machine.network.resize(1);
    machine.network[0].id = "ici";
    CHECK(machine.level("vmem") == &machine.memory[1]);
    CHECK(machine.level("l2") == nullptr);
    CHECK(machine.tier("ici") == &machine.network[0]);
    CHECK(machine.tier("dcn") == nullptr);
}

TEST_CASE("the usual accumulator is preferred, but a known rate takes precedence over an unknown one") {
    Machine machine;
    machine.peaks = {peak_of(Unit::matmul, Dtype::f16, 142e12, Dtype::f16), peak_of(Unit::matmul, Dtype::f16, 71e12)};
    CHECK(machine.peak(Unit::matmul, Dtype::f16)->rate.value->value == 71e12);
    CHECK(machine.peak(Unit::vector, Dtype::f16) == nullptr);
    machine.peaks[1].rate.value.reset();
    CHECK(machine.peak(Unit::matmul, Dtype::f16)->rate.value->value == 142e12);
}

TEST_CASE("a contraction runs on the matrix unit of its dtype, else on the next wider one") {
    Machine machine;
    machine.peaks = {peak_of(Unit::matmul, Dtype::bf16, 200), peak_of(Unit::vector, Dtype::f32, 10),
                     peak_of(Unit::vector, Dtype::bf16, 20)};
    CHECK(rate_of(machine, Unit::matmul, Dtype::bf16) == 200);
    CHECK_FALSE(assign(machine, Unit::matmul, Dtype::bf16)->stands_in);

    CHECK(rate_of(machine, Unit::matmul, Dtype::int8) == 200);  // there is no int8 unit; bf16 represents every int8
    CHECK(assign(machine, Unit::matmul, Dtype::int8)->stands_in);

    CHECK(rate_of(machine, Unit::matmul, Dtype::f32) == 10);  // bf16 is too narrow, so the vector unit is used
    CHECK(assign(machine, Unit::matmul, Dtype::f32)->stands_in);

    const auto too_wide = assign(machine, Unit::matmul, Dtype::f64);
    REQUIRE_FALSE(too_wide.has_value());
    CHECK(too_wide.error().code == "no_rate");
    CHECK(too_wide.error().hint.find("--set matmul.f64=") != std::string::npos);
}

TEST_CASE("a contraction prefers a vector unit of the same dtype to a wider matrix unit") {
    Machine machine;
    machine.peaks = {peak_of(Unit::matmul, Dtype::f64, 5), peak_of(Unit::vector, Dtype::f32, 10)};
    CHECK(rate_of(machine, Unit::matmul, Dtype::f32) == 10);
    CHECK(rate_of(machine, Unit::matmul, Dtype::bf16) == 10);
}

TEST_CASE("elementwise work runs at its own rate, else at that of f32, else at that of a wider dtype") {
    Machine machine;
    machine.peaks = {peak_of(Unit::vector, Dtype::f32, 10), peak_of(Unit::vector, Dtype::f16, 20),
                     peak_of(Unit::vector, Dtype::f64, 5), peak_of(Unit::matmul, Dtype::bf16, 200)};
    CHECK(rate_of(machine, Unit::vector, Dtype::f16) == 20);
    CHECK_FALSE(assign(machine, Unit::vector, Dtype::f16)->stands_in);

    CHECK(rate_of(machine, Unit::vector, Dtype::bf16) == 10);  // never the matrix unit
    CHECK_FALSE(assign(machine, Unit::vector, Dtype::bf16)->stands_in);

    CHECK(rate_of(machine, Unit::vector, Dtype::int8) == 10);
    CHECK(assign(machine, Unit::vector, Dtype::int8)->stands_in);

    CHECK(rate_of(machine, Unit::vector, Dtype::f64) == 5);
    machine.peaks.erase(machine.peaks.begin());
    CHECK(rate_of(machine, Unit::vector, Dtype::f32) == 5);
    CHECK(assign(machine, Unit::vector, Dtype::f32)->stands_in);
}

TEST_CASE("f64 elementwise work never runs at f32's rate") {
    Machine machine;
    machine.peaks = {peak_of(Unit::vector, Dtype::f32, 10)};
    CHECK_FALSE(assign(machine, Unit::vector, Dtype::f64).has_value());
}

TEST_CASE("a rate without a value is not used") {
    Machine machine;
    machine.peaks = {peak_of(Unit::matmul, Dtype::bf16, 0), peak_of(Unit::vector, Dtype::f32, 10)};
    CHECK(rate_of(machine, Unit::matmul, Dtype::bf16) == 10);
}
