#include "bound/padding.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

// Matrix units of side 128 and 1 kFLOP/s; everything else also runs at 1 kFLOP/s.
Machine padded_toy(std::int64_t side = 128) {
    Machine machine;
    machine.name = "Toy";
    machine.peaks.resize(2);
    machine.peaks[0].rate.value = FlopRate{1000};
    machine.peaks[1].unit = Unit::vector;
    machine.peaks[1].dtype = Dtype::f32;
    machine.peaks[1].rate.value = FlopRate{1000};
    machine.memory.resize(1);
    machine.memory[0].id = "hbm";
    machine.memory[0].bandwidth.value = Bandwidth{1};
    if (side > 0) machine.matrix_unit = MatrixUnit{side, 1};
    return machine;
}

std::optional<Padding> padding(std::string_view text, const Machine& machine = padded_toy()) {
    const auto program = parse_program(text);
    REQUIRE_MESSAGE(program.has_value(), to_text(program.error()));
    const auto analysis = analyse(*program, machine, {});
    REQUIRE_MESSAGE(analysis.has_value(), to_text(analysis.error()));
    return analysis->total.padding;
}

}  // namespace

TEST_CASE("the sum and the stationary side are padded to whole arrays") {
    // D 1000 -> 1024; F 500 -> 512 loses less than B 100 -> 128. 1e8 FLOPs become 1e8 * 1.024 * 1.024.
    const auto lost = padding("bf16[B=100, D=1000] * bf16[D, F=500] -> bf16[B, F]");
    REQUIRE(lost.has_value());
    CHECK(lost->useful_flops == approx(1e8));
    CHECK(lost->padded_flops == approx(1.048576e8));
    CHECK(lost->padded_seconds == approx(1.048576e5));
    CHECK(lost->sides == std::vector<std::string>{"D 1000 -> 1024", "F 500 -> 512"});
    // The other side is padded where it loses less: B 500 -> 512, F 100 -> 128.
    CHECK(padding("bf16[B=500, D=1024] * bf16[D, F=100] -> bf16[B, F]")->sides ==
          std::vector<std::string>{"B 500 -> 512"});
}

TEST_CASE("dimensions of one side are padded together, batch dimensions not at all") {
    // N*H = 6*32 = 192 -> 256; the batch of 3 stays as it is.
    const auto lost = padding("bf16[G=3, B=1, N=6, H=32] * bf16[G, N, H, D=128] -> bf16[G, B, D]");
    REQUIRE(lost.has_value());
    CHECK(lost->sides == std::vector<std::string>{"N x H 192 -> 256"});
    CHECK(lost->useful_flops == 2 * 3 * 192 * 128);
    CHECK(lost->padded_flops == approx(2 * 3 * 256 * 128));
}

TEST_CASE("repeats count, and so do operations without padding") {
    const auto lost = padding("X : bf16[B=128, D=64]; W : bf16[D, F=128]\nrepeat 5 { Y : bf16[B,F] = X * W }");
    REQUIRE(lost.has_value());
    CHECK(lost->useful_flops == 5.0 * 2 * 128 * 64 * 128);
    CHECK(lost->padded_flops == approx(2 * lost->useful_flops));  // 64 -> 128
}

TEST_CASE("no padding: whole sides, no matrix unit, vector work") {
    CHECK_FALSE(padding("bf16[B=1, D=256] * bf16[D, F=128] -> bf16[B, F]").has_value());
    CHECK_FALSE(padding("bf16[B=1, D=100] * bf16[D, F=100] -> bf16[B, F]", padded_toy(0)).has_value());
    CHECK_FALSE(padding("f32[B=100, D=100] * f32[D, F=100] -> f32[B, F]").has_value());  // no f32 matrix unit
    CHECK_FALSE(padding("relu(bf16[B=100]) -> bf16[B]").has_value());
}
