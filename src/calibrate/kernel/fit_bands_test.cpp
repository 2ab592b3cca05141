// Tests of models that differ by heads, by the size of heads, by windows and by rows.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/approx_test.hpp"
#include "calibrate/kernel/fit_kernels.hpp"
#include "calibrate/kernel/kernel_points_test.hpp"

using namespace roofline::core;

TEST_CASE("attention has models by heads where they predict held-out rows better") {
    const KernelModel of_many{9e-6, 2e-9, 0.8, 1, 0.75, 2};
    KernelModel of_one = of_many;
    of_one.fixed_s = 3e-6;
    of_one.memory = 0.4;
    const auto fit_to = [&](const KernelModel& one, std::initializer_list<double> numbers) {
        std::vector<TimedKernel> kernels;
        for (double b = 1; b <= 512; b *= 2) {
            for (double s = 64; s <= 16384; s *= 4) {
                for (const double heads : numbers) {
                    const KernelPoint point = decode_point(b, s, heads);
                    kernels.push_back({point, seconds_of(heads > 1 ? of_many : one, point)});
                }
            }
        }
        return fit_kernels(kernels);
    };
    CHECK(fit_to(of_many, {1, 2, 4, 8})->bands.empty());
    const auto by_band = fit_to(of_one, {1, 2, 4, 8});
    REQUIRE(by_band);
    REQUIRE(by_band->bands.size() == 1);
    CHECK(by_band->bands.front().most == 1);
    CHECK(by_band->bands.front().sized.model.memory == approx(0.4).epsilon(0.02));
    CHECK(by_band->bands.front().sized.model.fixed_s == approx(3e-6).epsilon(0.05));
    CHECK(by_band->model.memory == approx(0.75).epsilon(0.02));
    CHECK(by_band->error_held_out < 0.01);
    CHECK(by_band->rows == 200);
    const KernelPoint one = decode_point(8, 1024, 1);
    CHECK(seconds_of(*by_band, one) == approx(seconds_of(of_one, one)).epsilon(0.02));
    CHECK(model_for(*by_band, one).most == 1);
    const KernelPoint more = decode_point(8, 1024, 16);
    CHECK(seconds_of(*by_band, more) == approx(seconds_of(of_many, more)).epsilon(0.02));
    CHECK(model_for(*by_band, more).least == 2);
    // in a matmul without token dimension the rows are heads
    KernelPoint unknown_heads = more;
    unknown_heads.heads = 0;
    CHECK(model_for(*by_band, unknown_heads).least == 2);
}

TEST_CASE("attention has models by the size of heads where they predict held-out rows better") {
    const KernelModel of_usual{9e-6, 2e-9, 0.8, 1, 0.75, 2};
    KernelModel of_wide = of_usual;
    of_wide.memory = 0.2;
    const auto point_of = [](double b, double s, double size) {
        KernelPoint point = decode_point(b, s, 4);
        point.n = size;
        for (double* part : {&point.math_s, &point.memory_s, &point.shared_read_s, &point.partial_sums_s})
            *part *= size / 128;
        return point;
    };
    std::vector<TimedKernel> kernels;
    for (double b = 1; b <= 512; b *= 2) {
        for (double s = 64; s <= 16384; s *= 4) {
            for (const double size : {64.0, 80.0, 128.0, 256.0}) {
                const KernelPoint point = point_of(b, s, size);
                kernels.push_back({point, seconds_of(size > 192 ? of_wide : of_usual, point)});
            }
        }
    }
    const auto fit = fit_kernels(kernels);
    REQUIRE(fit);
    CHECK(fit->by == BandsBy::n);
    REQUIRE(fit->bands.size() == 2);  // there are too few of 192, which count with the wider ones
    CHECK(fit->bands[0].most == 64);
    CHECK(fit->bands[1].most == 128);
    CHECK(fit->bands[1].sized.model.memory == approx(0.75).epsilon(0.02));
    CHECK(fit->model.memory == approx(0.2).epsilon(0.02));
    CHECK(fit->error_held_out < 0.01);
    CHECK(model_for(*fit, point_of(8, 1024, 80)).least == 65);
    CHECK(model_for(*fit, point_of(8, 1024, 512)).least == 129);
}

TEST_CASE("a fit finds that attention with a window takes time for the whole cache") {
    // the window has 128 keys of caches with up to 65,536, and each key of the cache takes 2 ns
    const KernelModel model{9e-6, 2e-9, 0.8, 1, 0.75, 1};
    std::vector<TimedKernel> kernels;
    for (double b = 1; b <= 512; b *= 2) {
        for (double c = 256; c <= 65536; c *= 4) {
            KernelPoint point = decode_point(b, 128, 4);
            point.cache = c;
            KernelPoint longer = point;
            longer.depth = c;
            kernels.push_back({point, seconds_of(model, longer)});
        }
    }
    const auto fit = fit_kernels(kernels);
    REQUIRE(fit);
    CHECK(fit->whole);
    CHECK(fit->error_held_out < 0.01);
    CHECK(fit->model.ramp_s == approx(2e-9).epsilon(0.02));
    for (const TimedKernel& kernel : kernels) CHECK(error_of(*fit, kernel) < 0.02);
    // without a known cache the depth is that of the keys
    CHECK(point_for(*fit, decode_point(1, 128, 4)).depth == 128);
    // if only some measurements have windows, the depth is that of the windows
    kernels.front().point.cache = 0;
    CHECK_FALSE(fit_kernels(kernels)->whole);
}

TEST_CASE("matmuls have models by rows where they predict held-out rows better") {
    const KernelModel of_tiles{9e-6, 2e-9, 0.7, 1, 0.75, 2};
    KernelModel of_vectors = of_tiles;  // a kernel without tiles: it starts sooner, and adds in parallel
    of_vectors.fixed_s = 3e-6;
    of_vectors.ramp_s = 0;
    const KernelModel quantising{2e-6, 0, 1, 1, 0.5};
    const auto timed = [&](double most_of_vectors, bool quantised) {
        std::vector<TimedKernel> kernels;
        for (double m = 1; m <= 4096; m *= 2) {
            for (double n = 256; n <= 16384; n *= 2) {
                for (const double k : {512.0, 2048.0, 8192.0}) {
                    const KernelPoint point = product_point(m, n, k, 0);
                    TimedKernel kernel{point, seconds_of(m > most_of_vectors ? of_tiles : of_vectors, point)};
                    if (quantised) {
                        kernel.first = KernelPoint{0, 0, 3 * m * k / 1e12};
                        kernel.time_s += seconds_of(quantising, *kernel.first);
                    }
                    kernels.push_back(kernel);
                }
            }
        }
        return kernels;
    };
    CHECK(fit_kernels(timed(0, false))->bands.empty());
    const auto by_band = fit_kernels(timed(8, false));
    REQUIRE(by_band);
    CHECK(by_band->by == BandsBy::m);
    REQUIRE(by_band->bands.size() == 4);
    CHECK(by_band->bands[1].most == 8);
    CHECK(by_band->bands[1].sized.model.fixed_s == approx(3e-6).epsilon(0.02));
    CHECK(by_band->bands[1].sized.model.ramp_s < 0.05e-9);
    CHECK(by_band->bands[2].sized.model.fixed_s == approx(9e-6).epsilon(0.02));
    CHECK(by_band->model.math == approx(0.7).epsilon(0.02));
    CHECK(by_band->error_held_out < 0.01);
    CHECK(by_band->rows == 13 * 7 * 3);
    const auto rows_of_model = [&](double m) {
        const AppliedModel used = model_for(*by_band, product_point(m, 1024, 1024, 0));
        return std::pair(used.least, used.most);
    };
    CHECK(rows_of_model(1) == std::pair(1.0, 1.0));
    CHECK(rows_of_model(8) == std::pair(2.0, 8.0));
    CHECK(rows_of_model(9) == std::pair(9.0, 64.0));
    CHECK(rows_of_model(513) == std::pair(513.0, AppliedModel::unlimited));
    // several matmuls in one kernel, so that there is no single size
    CHECK(rows_of_model(0) == std::pair(0.0, AppliedModel::unlimited));

    std::vector<TimedKernel> quantised = timed(8, true);
    const auto behind = fit_kernels(quantised);
    REQUIRE(behind);
    CHECK(behind->bands.size() == 4);
    REQUIRE(behind->first);
    CHECK(behind->error_held_out < 0.03);
    for (const TimedKernel& kernel : quantised) CHECK(error_of(*behind, kernel) < 0.15);
}
