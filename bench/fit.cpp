// Benchmarks of fitting kernel models to timed matmuls.
#include <cmath>
#include <vector>

#include <benchmark/benchmark.h>

#include "calibrate/kernel/fit_kernels.hpp"

namespace {

using namespace roofline::core;

/// Generates `count` matmuls with 1 to 32 k rows and 32 to 64 k columns and depth, in irregular order, for a machine
/// with 1 PFLOP/s, 3 TB/s and 132 cores. Their times follow a kernel model with tiles, with deviations of up to 15 %.
std::vector<TimedKernel> timed_matmuls(std::int64_t count) {
    KernelModel model{3e-6, 0.3e-9, 0.75, 1, 0.85, 3};
    model.tiled = true;
    model.split_s = 2e-6;
    model.wave_s = 0.5e-6;
    model.partial = 2;
    model.core_Bps = 3e12 / 66;
    const auto between = [](double turns, double least, double most) {
        return std::round(least * std::pow(most / least, turns - std::floor(turns)));
    };
    std::vector<TimedKernel> kernels;
    for (std::int64_t i = 1; i <= count; ++i) {
        const auto turn = static_cast<double>(i);
        const double m = between(turn * 0.8191725, 1, 32768);
        const double n = between(turn * 0.6710436, 32, 65536);
        const double k = between(turn * 0.5497005, 32, 65536);
        KernelPoint point{2 * m * n * k / 1e15, 0, 2 * (m * k + k * n + m * n) / 3e12, 0, k};
        point.write_s = 2 * m * n / 3e12;
        point.partial_sums_s = 8 * m * n / 3e12;
        point.fill = 2 * (m * k + k * n + m * n) / 50e6;
        point.m = m;
        point.n = n;
        point.batch = 1;
        point.cores = 132;
        point.memory_Bps = 3e12;
        kernels.push_back({point, seconds_of(model, point) * (1 + 0.15 * std::sin(turn * turn))});
    }
    return kernels;
}

void fit_models(benchmark::State& state) {
    const std::vector<TimedKernel> kernels = timed_matmuls(state.range(0));
    for (auto _ : state) benchmark::DoNotOptimize(fit_kernels(kernels));
}

BENCHMARK(fit_models)->Arg(500)->Arg(2000)->Unit(benchmark::kMillisecond);

}  // namespace
