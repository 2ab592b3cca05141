#include "calibrate/kernel/kernel_steps.hpp"

#include <doctest/doctest.h>

#include "calibrate/kernel/fit_kernels.hpp"

namespace roofline::core {

namespace {

/// Kernels with a work of `least_us` and more at half of the rate, each of which takes `start_us` more. `set_work` puts
/// the seconds of work into a point.
template <class SetWork>
std::vector<TimedKernel> starters(double least_us, double start_us, SetWork set_work) {
    std::vector<TimedKernel> kernels;
    for (double us = least_us; kernels.size() < 16; us *= 1.3) {
        TimedKernel kernel;
        set_work(kernel.point, us * 1e-6);
        kernel.time_s = (2 * us + start_us) * 1e-6;
        kernels.push_back(kernel);
    }
    return kernels;
}

/// Matmuls that take 200 us more.
std::vector<TimedKernel> slow_starters(double least_us) {
    return starters(least_us, 200, [](KernelPoint& point, double work_s) {
        point.math_s = work_s;
        point.depth = 128;
    });
}

}  // namespace

TEST_CASE("rows of hundreds of microseconds do not make a start-up of hundreds of microseconds") {
    const auto fit = fit_kernels(slow_starters(100));
    REQUIRE(fit);
    // a typical launch is 3 us and a typical ramp 1 ns; rows alone would make it 200 us
    CHECK(fit->model.fixed_s > 1e-6);
    CHECK(fit->model.fixed_s < 15e-6);
    CHECK(fit->model.ramp_s * 128 < 10e-6);
}

TEST_CASE("rows of tens of microseconds do not make a start-up of tens of microseconds for a kernel without a matmul") {
    // twice the time of the reads, and 20 us more that 45 us cannot show; of a kernel of 22 us almost all is start-up
    const auto streams = [](double least_us) {
        return starters(least_us, 20, [](KernelPoint& point, double work_s) {
            point.memory_s = work_s;
            point.rows = 1024;
        });
    };
    const auto held = fit_kernels(streams(12.5));
    REQUIRE(held);
    CHECK(held->model.fixed_s > 1e-6);
    CHECK(held->model.fixed_s < 9e-6);  // at most three times a typical launch
    CHECK(held->model.ramp_s == 0);     // there is no depth that it could add up
    const auto shown = fit_kernels(streams(1));
    REQUIRE(shown);
    CHECK(shown->model.fixed_s == doctest::Approx(20e-6).epsilon(0.05));
}

TEST_CASE("a start-up that a short row shows is fitted") {
    std::vector<TimedKernel> kernels = slow_starters(100);
    for (TimedKernel& kernel : kernels) kernel.time_s -= 180e-6;  // 20 us remain
    TimedKernel small;
    small.point.math_s = 1e-6;
    small.point.depth = 128;
    small.time_s = 22e-6;
    kernels.insert(kernels.end(), 4, small);
    const auto fit = fit_kernels(kernels);
    REQUIRE(fit);
    CHECK(fit->model.fixed_s + fit->model.ramp_s * 128 == doctest::Approx(20e-6).epsilon(0.05));
}

}  // namespace roofline::core
