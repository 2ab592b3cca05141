#include "measure/cpu/peak_kernels.hpp"

#include <doctest/doctest.h>

#include <array>
#include <set>

#include "base/approx_test.hpp"
#include "measure/cpu/port_rates.hpp"

using namespace roofline::core;

TEST_CASE("every kernel for this processor computes the right result, for few passes and for many") {
    const CpuFeatures features = cpu_features();
    for (const PeakKernel& kernel : peak_kernels(features)) {
        CAPTURE(kernel.id);
        PeakRun run(kernel);
        for (const std::int64_t passes : {1, 2, 3, 1000, 16384}) CHECK(run.make(passes));
    }
}

TEST_CASE("a kernel that skips a pass is detected") {
    std::vector<PeakKernel> kernels;
    add_plain_kernels(kernels);
    for (PeakKernel& kernel : kernels) {
        CAPTURE(kernel.id);
        kernel.steps[3] *= 2;  // as if the fourth accumulator had been updated twice
        PeakRun run(kernel);
        CHECK_FALSE(run.make(10));
    }
}

TEST_CASE("kernel names are unique and operation counts are right") {
    std::set<std::string> ids;
    for (const PeakKernel& kernel : all_peak_kernels()) {
        CAPTURE(kernel.id);
        CHECK(ids.insert(kernel.id).second);
        const bool runs = kernel.run != nullptr;
        CHECK(runs);
        CHECK(kernel.operands.size() <= 4);
        CHECK(kernel.ops_per_pass > 0);
        // an FMA on registers of n lanes is 2n operations, a dot product is two per element of an operand
        if (kernel.unit != Unit::matmul || kernel.instructions_per_pass == 0) continue;
        const double ops = kernel.ops_per_pass / kernel.instructions_per_pass;
        const std::size_t elements = kernel.register_bytes / lane_bytes(kernel.operands.front().lane);
        const bool matrix = kernel.title == "tile product" || kernel.title == "matrix product";
        if (!matrix) CHECK(ops == 2 * static_cast<double>(elements));
    }
}

TEST_CASE("lanes hold the values that they are filled with") {
    std::array<char, 64> memory{};
    for (const RegisterLane lane : {RegisterLane::f64, RegisterLane::f32, RegisterLane::f16, RegisterLane::bf16,
                                    RegisterLane::s32, RegisterLane::s16, RegisterLane::s8, RegisterLane::u8}) {
        for (const double value : {0.0, 1.0, 3.0, 100.0}) {
            fill_lanes(lane, value, memory.data(), memory.size());
            CHECK(read_lane(lane, memory.data()) == value);
            CHECK(read_lane(lane, memory.data() + 64 - lane_bytes(lane)) == value);
        }
    }
    // 1.5 in half precision: sign 0, exponent 15, fraction 1000000000
    fill_lanes(RegisterLane::f16, -1.5, memory.data(), memory.size());
    CHECK(static_cast<unsigned char>(memory[1]) == 0xbe);
    CHECK(static_cast<unsigned char>(memory[0]) == 0x00);
    // 1.5 in bfloat16 is the upper half of 0x3fc00000
    fill_lanes(RegisterLane::bf16, 1.5, memory.data(), memory.size());
    CHECK(static_cast<unsigned char>(memory[1]) == 0x3f);
    CHECK(static_cast<unsigned char>(memory[0]) == 0xc0);
}

namespace {

const PeakKernel& kernel_named(const std::vector<PeakKernel>& kernels, const std::string& id) {
    for (const PeakKernel& kernel : kernels) {
        if (kernel.id == id) return kernel;
    }
    static const PeakKernel none;
    return none;
}

}  // namespace

#if defined(__x86_64__)
TEST_CASE("a figure is accepted if it is what the ports can do") {
    const std::vector<PeakKernel> kernels = all_peak_kernels();
    const PeakKernel& fma = kernel_named(kernels, "fma_f32_avx512");
    CpuFeatures zen4;
    zen4.vendor = "AuthenticAMD";
    zen4.family = 0x19;
    zen4.model = 0x11;
    CHECK(microarchitecture(zen4) == "Zen 4");
    REQUIRE(port_rates(zen4, fma) == std::vector<double>{1});
    // one FMA of 16 lanes per cycle: 32 operations
    const PortVerdict good = judge_port_rate(fma, {1}, 31.7);
    CHECK(good.known);
    CHECK(good.rate == 32);
    CHECK(good.share == approx(31.7 / 32));
    // compiled code with register spills once gave 29 of 100 GFLOP/s
    CHECK_FALSE(judge_port_rate(fma, {1}, 9.3).known);
    CHECK_FALSE(judge_port_rate(fma, {1}, 34).known);
    // a processor that is not in the table may have any of the usual rates, but no rate between them
    CHECK(judge_port_rate(fma, port_rates({}, fma), 63).known);
    CHECK(judge_port_rate(fma, port_rates({}, fma), 15.9).known);
    CHECK_FALSE(judge_port_rate(fma, port_rates({}, fma), 24).known);
}

TEST_CASE("for processors with one or two 512-bit ports, a rate above that of one port shows that there are two") {
    const std::vector<PeakKernel> kernels = all_peak_kernels();
    const PeakKernel& fma = kernel_named(kernels, "fma_f32_avx512");
    CpuFeatures cascade_lake;
    cascade_lake.vendor = "GenuineIntel";
    cascade_lake.family = 6;
    cascade_lake.model = 0x55;
    const std::vector<double> rates = port_rates(cascade_lake, fma);
    REQUIRE(rates == std::vector<double>{1, 2});
    // one port gives 32 operations; with two ports and another thread on the core, 46 of 64 remain
    const PortVerdict two = judge_port_rate(fma, rates, 46);
    CHECK(two.rate == 64);
    CHECK(two.sure);
    CHECK_FALSE(two.known);
    const PortVerdict one = judge_port_rate(fma, rates, 31.5);
    CHECK(one.known);
    CHECK_FALSE(one.sure);
    CHECK(judge_port_rate(fma, rates, 70).share > 1);
    CHECK_FALSE(judge_port_rate(fma, rates, 70).sure);
}

TEST_CASE("a tile multiplication takes 16 cycles: 1024 operations of bf16 and 2048 of int8 per cycle") {
    const std::vector<PeakKernel> kernels = all_peak_kernels();
    const PeakKernel& bf16 = kernel_named(kernels, "tiles_bf16_amx");
    const PeakKernel& int8 = kernel_named(kernels, "tiles_int8_amx");
    CHECK(judge_port_rate(bf16, port_rates({}, bf16), 1020).rate == 1024);
    CHECK(judge_port_rate(int8, port_rates({}, int8), 2040).rate == 2048);
}
#endif
