#include "calibrate/kernel/library_launch.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "calibrate/collective/expected_collective.hpp"

namespace roofline::core {

namespace {

/// A model of matmuls of which the shortest took `least_us`, with a launch of `launch_us`.
CalibratedKernel matmuls(std::string dtype, std::string software, double least_us, double launch_us) {
    CalibratedKernel kernel;
    kernel.key = {KernelKind::contraction, std::move(dtype), std::move(software), ""};
    kernel.fit.model.fixed_s = launch_us * 1e-6;
    kernel.fit.least_s = least_us * 1e-6;
    kernel.fit.most_s = 1;
    return kernel;
}

double least_us(const CalibratedKernel& kernel) { return least_seconds_of(kernel.fit) * 1e6; }

}  // namespace

TEST_CASE("matmuls whose rows do not show a launch take at least that of the library's other matmuls") {
    std::vector<CalibratedKernel> kernels{matmuls("int8", "lib 1.0", 8, 0.1), matmuls("fp8", "lib 1.1", 3.4, 3),
                                          matmuls("bf16", "lib 1.0", 2.6, 2.5), matmuls("f16", "other 1.0", 2, 1.5)};
    add_launches(kernels);
    CHECK(least_us(kernels[0]) == approx(2.5));
    // from a launch of 2.5 us for no work to the measured 8 us: of the model's 0.1 us, 1 - 2.5 / 8 is added
    CHECK(seconds_of(kernels[0].fit, KernelPoint{}) == approx(2.5e-6 + 0.1e-6 * 0.6875));
    kernels[0].fit.model.fixed_s = 4e-6;
    CHECK(seconds_of(kernels[0].fit, KernelPoint{}) == approx(5.25e-6));
    // at and above it the model is as it was fitted
    for (const double us : {8.0, 30.0}) {
        kernels[0].fit.model.fixed_s = us * 1e-6;
        CHECK(seconds_of(kernels[0].fit, KernelPoint{}) == approx(us * 1e-6));
    }
    // those that show theirs keep what they have
    for (const std::size_t i : {1U, 2U, 3U}) CHECK(kernels[i].fit.launch_s == 0);
    CHECK(seconds_of(kernels[1].fit, KernelPoint{}) == approx(3e-6));

    // no longer than the shortest measured time, and not from a library whose rows do not show a launch either
    kernels = {matmuls("int8", "lib", 2, 0.1), matmuls("fp8", "lib", 8, 3)};
    add_launches(kernels);
    CHECK(least_us(kernels[0]) == approx(2));
    kernels = {matmuls("int8", "lib", 8, 0.1), matmuls("fp8", "lib", 80, 3)};
    add_launches(kernels);
    CHECK(least_us(kernels[0]) == approx(1));  // the shortest of any published kernel
}

TEST_CASE("the launch that rows show is the one fitted to the fewest rows") {
    CalibratedKernel banded = matmuls("bf16", "lib", 3, 0);
    banded.fit.by = BandsBy::m;
    banded.fit.bands = {{8, {matmuls("", "", 0, 2.8).fit.model, {}}}};
    std::vector<CalibratedKernel> kernels{banded, matmuls("int8", "lib", 8, 0.1)};
    add_launches(kernels);
    CHECK(kernels[0].fit.launch_s == 0);
    CHECK(least_us(kernels[1]) == approx(2.8));
}

TEST_CASE("launches of a host, of expert layers and of unnamed software are not those of a library's matmuls") {
    std::vector<CalibratedKernel> kernels{matmuls("int8", "lib", 20, 0.1), matmuls("fp8", "lib", 9, 8),
                                          matmuls("bf16", "lib", 9, 7), matmuls("fp8", "", 9, 6),
                                          matmuls("int8", "", 20, 0.1)};
    kernels[1].key.variant = "wall clock";
    kernels[2].key.kind = KernelKind::grouped_contraction;
    add_launches(kernels);
    for (const CalibratedKernel& kernel : kernels) CHECK(kernel.fit.launch_s == 0);
}

TEST_CASE("calibrations have launches whether they are given or built in") {
    Calibrations given({{"m", {}, {}, {}, {}, {matmuls("int8", "lib", 8, 0.1), matmuls("fp8", "lib", 3.4, 3)}}});
    REQUIRE(given.find("m") != nullptr);
    CHECK(least_us(given.find("m")->kernels.front()) == approx(3));
    // aiter's 16 matmuls in int8 on an MI300X took 7.7 us and more; 7,161 in fp8 there show a launch of 2.98 us
    Calibrations all = Calibrations::built_in();
    const Calibration* mi300x = all.find("mi300x", models_of_kernels(KernelKind::contraction));
    REQUIRE(mi300x != nullptr);
    bool found = false;
    for (const CalibratedKernel& kernel : mi300x->kernels) {
        if (kernel.key.dtype != "int8" || kernel.key.software != "aiter") continue;
        found = true;
        CHECK(least_us(kernel) == approx(2.984));
    }
    CHECK(found);
}

}  // namespace roofline::core
