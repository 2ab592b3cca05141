#include "calibrate/kernel/fit_kernels.hpp"
#include "base/approx_test.hpp"
#include "calibrate/kernel/kernel_points_test.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace roofline::core;

namespace {

/// [B, D] x [D, D] for B = 1 .. 4096 in f32 with 10 TFLOP/s and 4 TB/s, timed by a known model. The rates are so high
/// that a fixed cost of microseconds is noticeable.
std::vector<TimedKernel> made_by(const KernelModel& model) {
    std::vector<TimedKernel> kernels;
    for (double b = 1; b <= 4096; b *= 2) {
        for (const double d : {512.0, 1024.0, 4096.0}) {
            const KernelPoint point{2 * b * d * d / 10e12, 0, 4 * (2 * b * d + d * d) / 4e12, 0, d};
            kernels.push_back({point, seconds_of(model, point)});
        }
    }
    return kernels;
}

/// Deterministic noise between -1 and 1 by index.
double noise(std::size_t i) { return std::sin(static_cast<double>(i * i + 3 * i)); }

}  // namespace

TEST_CASE("a fit finds the constants that made the times") {
    const KernelModel model{3e-6, 2e-9, 0.9, 1, 0.7, 2};
    const auto fit = fit_kernels(made_by(model));
    REQUIRE(fit);
    CHECK(fit->rows == 39);
    CHECK(fit->left_out == 0);
    CHECK(fit->model.fixed_s == approx(3e-6).epsilon(0.05));
    CHECK(fit->model.ramp_s == approx(2e-9).epsilon(0.05));
    CHECK(fit->model.math == approx(0.9).epsilon(0.01));
    CHECK(fit->model.memory == approx(0.7).epsilon(0.01));
    CHECK(fit->model.p == approx(2).epsilon(0.05));
    CHECK(fit->model.vector == 1);  // the kernels have no vector work
    CHECK(fit->error_fitted < 0.005);
    CHECK(fit->error_held_out < 0.005);
    CHECK(fit->error_of_bound > 0.1);
}

TEST_CASE("a square array pads sizes between those that were measured") {
    std::vector<TimedKernel> kernels = made_by({3e-6, 2e-9, 0.9, 1, 0.7, 2});
    const auto unknown = fit_kernels(kernels);
    REQUIRE(unknown);
    CHECK(!unknown->model.padded);
    for (TimedKernel& kernel : kernels) kernel.point.on_array = true;  // all sizes have whole sides of 128
    const auto fit = fit_kernels(kernels);
    REQUIRE(fit);
    CHECK(fit->model.padded);
    CHECK(fit->error_held_out == unknown->error_held_out);
    // 80 of 128 columns: 800 us of matmul time and 480 us of padding at 0.9 of the rate
    const KernelPoint between{.math_s = 800e-6, .padding_s = 480e-6};
    CHECK(seconds_of(*fit, between) == approx(3e-6 + 1280e-6 / 0.9).epsilon(0.01));
}

TEST_CASE("an array pads heads unless times refute it") {
    KernelModel model{3e-6, 2e-9, 0.9, 1, 0.7, 2};
    const auto padded = [&](double padding, double heads) {
        std::vector<TimedKernel> kernels = made_by(model);
        for (TimedKernel& kernel : kernels) {
            kernel.point.on_array = true;
            kernel.point.heads = heads;
            // a single row is bound by memory, so that a twentieth more of the matmul time does not show
            if (kernel.point.math_s < 0.5 * kernel.point.memory_s)
                kernel.point.padding_s = padding * kernel.point.math_s;
            kernel.time_s = seconds_of(model, kernel.point);
        }
        const auto fit = fit_kernels(kernels);
        REQUIRE(fit);
        return fit->model.padded;
    };
    CHECK(padded(0.05, 8));
    CHECK(!padded(0.05, 0));
    model.padded = true;
    CHECK(padded(0.05, 8));
    model.padded = false;
    std::vector<TimedKernel> kernels = made_by(model);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        kernels[i].point.on_array = true;
        kernels[i].point.heads = 8;
        if (i % 2 == 0) kernels[i].point.padding_s = kernels[i].point.math_s;  // heads of half a side
    }
    const auto refuted = fit_kernels(kernels);
    REQUIRE(refuted);
    CHECK(!refuted->model.padded);
}

TEST_CASE("the maximum and the sum are both found") {
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double p : {1.0, infinity}) {
        const auto fit = fit_kernels(made_by({0, 0, 0.8, 1, 0.8, p}));
        REQUIRE(fit);
        CHECK(fit->model.p == p);
        CHECK(fit->model.math == approx(0.8).epsilon(0.01));
    }
}

TEST_CASE("a fit finds tiles, waves, splits and a warm cache") {
    KernelModel model{3e-6, 1e-9, 0.8, 1, 0.75, 2};
    model.tiled = true;
    model.split_s = 2e-6;
    model.wave_s = 1e-6;
    model.partial = 2;
    model.warm = 0.2;
    model.cache = 2;
    std::vector<TimedKernel> kernels;
    for (double m = 1; m <= 8192; m *= 2) {
        for (double n = 128; n <= 8192; n *= 2) {
            for (double k = 128; k <= 16384; k *= 4) {
                KernelPoint point = product_point(m, n, k, 20);
                point.write_s = 2 * m * n / 1e12;
                point.fill = 2 * (m * k + k * n + m * n) / 20e6;  // of a cache of 20 MB
                kernels.push_back({point, seconds_of(model, point)});
            }
        }
    }
    const auto fit = fit_kernels(kernels);
    REQUIRE(fit);
    CHECK(fit->model.tiled);
    CHECK(fit->model.write == 0);
    CHECK(fit->model.warm == 0.2);
    CHECK(fit->model.cache == approx(2).epsilon(0.1));
    CHECK(fit->model.math == approx(0.8).epsilon(0.01));
    CHECK(fit->model.memory == approx(0.75).epsilon(0.01));
    CHECK(fit->model.wave_s == approx(1e-6).epsilon(0.05));
    CHECK(fit->model.split_s == approx(2e-6).epsilon(0.05));
    // the partial results are only a few percent of the time, so the remaining error hides their rate
    CHECK(fit->model.partial == approx(2).epsilon(0.15));
    CHECK(fit->error_held_out < 0.01);
}

TEST_CASE("a cache is not found to be slower than the memory behind it") {
    // programs that fill less than a fifth of the cache are timed at half of the memory's rate, the others at 0.9 of it
    std::vector<TimedKernel> kernels;
    for (double m = 1; m <= 4096; m *= 2) {
        for (double n = 128; n <= 8192; n *= 2) {
            for (double k = 128; k <= 16384; k *= 4) {
                KernelPoint point = product_point(m, n, k, 20);
                point.write_s = 2 * m * n / 1e12;
                point.fill = 2 * (m * k + k * n + m * n) / 20e6;  // of a cache of 20 MB
                kernels.push_back({point, 3e-6 + point.memory_s / (point.fill < 0.2 ? 0.5 : 0.9)});
            }
        }
    }
    const auto fit = fit_kernels(kernels);
    REQUIRE(fit);
    const bool in_the_cache = fit->model.warm > 0;
    CHECK((!in_the_cache || fit->model.cache >= fit->model.memory));
    for (const BandModel& band : fit->bands)
        CHECK((!(band.sized.model.warm > 0) || band.sized.model.cache >= band.sized.model.memory));
}

TEST_CASE("a fit finds how many heads share keys, and how fast the others read them again") {
    KernelModel model{9e-6, 2e-9, 0.8, 1, 0.75, 2};
    model.tiled = true;
    model.split_s = 3e-6;
    model.wave_s = 1e-6;
    model.partial = 2;
    model.share = 8;
    model.reread = 3;
    std::vector<TimedKernel> kernels;
    for (double b = 1; b <= 512; b *= 2) {
        for (double s = 64; s <= 16384; s *= 4) {
            for (double heads = 1; heads <= 64; heads *= 2) {
                const KernelPoint point = decode_point(b, s, heads);
                kernels.push_back({point, seconds_of(model, point)});
            }
        }
    }
    const auto fit = fit_kernels(kernels);
    REQUIRE(fit);
    CHECK(fit->model.share == 8);
    CHECK(fit->model.reread == approx(3).epsilon(0.05));
    CHECK(fit->model.memory == approx(0.75).epsilon(0.02));
    CHECK(fit->error_held_out < 0.01);
}

TEST_CASE("a fit finds that waves overlap with memory traffic") {
    KernelModel model{5e-6, 0, 0.8, 1, 0.75, 4};
    model.tiled = true;
    model.wave_s = 6e-6;
    model.hidden = true;
    std::vector<TimedKernel> kernels;
    for (double b = 16; b <= 16384; b *= 2) {
        for (double s = 4; s <= 4096; s *= 2) {
            const KernelPoint point = decode_point(b, s, 8);
            kernels.push_back({point, seconds_of(model, point)});
        }
    }
    // 164 waves of 6 us, although the 4 keys are read in 134 us; with 256 keys, the 2.9 ms of reads dominate
    CHECK(seconds_of(model, decode_point(16384, 4, 8)) == approx(5e-6 + 164 * 6e-6).epsilon(0.01));
    CHECK(seconds_of(model, decode_point(16384, 256, 8)) ==
          approx(5e-6 + 16384.0 * (256 + 8) * 512 / 0.75e12).epsilon(0.02));
    const auto fit = fit_kernels(kernels);
    REQUIRE(fit);
    CHECK(fit->model.hidden);
    CHECK(fit->model.wave_s == approx(6e-6).epsilon(0.02));
    CHECK(fit->model.memory == approx(0.75).epsilon(0.02));
    CHECK(fit->error_held_out < 0.01);
}

TEST_CASE("what fits a cache may be as fast as a cache is") {
    // all data at six times the rate of main memory, and 2 us
    std::vector<TimedKernel> kernels;
    for (double bytes = 1e5; bytes < 3e9; bytes *= 1.5) {
        KernelPoint point{0, 0, bytes / 1e12, 0, 0};
        point.fill = bytes / 1e8;
        kernels.push_back({point, 2e-6 + point.memory_s / (point.fill < 1 ? 6 : 0.8)});
    }
    const auto fit = fit_kernels(kernels);
    REQUIRE(fit);
    CHECK(fit->left_out == 0);
    CHECK(fit->model.cache == approx(6).epsilon(0.1));
    CHECK(fit->model.memory == approx(0.8).epsilon(0.02));
    // for data that does not fit into any cache, this is invalid
    for (TimedKernel& kernel : kernels) kernel.point.fill += 2;
    CHECK(fit_kernels(kernels)->left_out > 5);
}

TEST_CASE("kernels without products have factors by rows and columns") {
    // a library that takes 1.5 times as long for 4096 and more columns, with any number of rows
    const KernelModel model{3e-6, 0, 1, 1, 0.75};
    std::vector<TimedKernel> rows;
    for (double r = 1; r <= 16384; r *= 2) {
        for (double c = 64; c <= 65536; c *= 2) {
            KernelPoint point{0, 0, 4 * r * c / 1e12, 0, 0};
            point.rows = r;
            point.columns = c;
            point.cores = 100;
            rows.push_back({point, seconds_of(model, point) * (c < 4096 ? 1 : 1.5)});
        }
    }
    const auto fit = fit_kernels(rows);
    REQUIRE(fit);
    REQUIRE_FALSE(fit->factors.logs.empty());
    CHECK(fit->error_held_out < 0.03);
    KernelPoint wide{0, 0, 1e-9, 0, 0};
    wide.rows = 1;
    wide.columns = 8192;
    KernelPoint narrow = wide;
    narrow.columns = 512;
    CHECK(seconds_of(*fit, wide) / seconds_of(*fit, narrow) == approx(1.5).epsilon(0.05));
}

TEST_CASE("a fit finds what rows cost, and keeps to tiles by rows") {
    KernelModel model{3e-6, 0, 1, 1, 0.75, 1};
    model.row_s = 0.5e-6;
    std::vector<TimedKernel> rows;
    for (double r = 1; r <= 16384; r *= 2) {
        for (double c = 64; c <= 16384; c *= 4) {
            KernelPoint point{0, 0, 4 * r * c / 1e12, 0, 0};
            point.rows = r;
            point.cores = 100;
            rows.push_back({point, seconds_of(model, point)});
        }
    }
    const auto fit = fit_kernels(rows);
    REQUIRE(fit);
    CHECK(fit->model.row_s == approx(0.5e-6).epsilon(0.01));
    CHECK(fit->model.memory == approx(0.75).epsilon(0.01));
    CHECK(fit->error_held_out < 0.01);
    model = {3e-6, 0, 0.8, 1, 0.75, 2};
    model.tiled = true;
    model.by_rows = true;
    std::vector<TimedKernel> products;
    for (double m = 1; m <= 8192; m *= 2) {
        for (double n = 32; n <= 8192; n *= 4) {
            for (double k = 128; k <= 32768; k *= 4) {
                const KernelPoint point = product_point(m, n, k, 100);
                products.push_back({point, seconds_of(model, point)});
            }
        }
    }
    const auto by_rows = fit_kernels(products);
    REQUIRE(by_rows);
    CHECK(by_rows->model.by_rows);
    CHECK(by_rows->model.math == approx(0.8).epsilon(0.01));
    CHECK(by_rows->error_held_out < 0.01);
}

TEST_CASE("the time of kernels before is not the model's") {
    const KernelModel model{3e-6, 2e-9, 0.9, 1, 0.7, 2};
    std::vector<TimedKernel> kernels = made_by(model);
    for (TimedKernel& kernel : kernels) {
        kernel.known_s = 5e-6;
        kernel.time_s += 5e-6;
    }
    const auto fit = fit_kernels(kernels);
    REQUIRE(fit);
    CHECK(fit->model.fixed_s == approx(3e-6).epsilon(0.05));
    CHECK(fit->error_fitted < 0.005);
}

TEST_CASE("rows of one shape are held out too") {
    std::vector<TimedKernel> kernels;
    for (std::size_t i = 1; i <= 20; ++i) {
        KernelPoint point{1e-6 * static_cast<double>(i), 0, 1e-6, 0, 64};
        point.m = static_cast<double>(i);
        point.n = 64;
        point.batch = 1;
        kernels.push_back({point, (3e-6 + point.math_s) * (1 + 0.2 * noise(i))});
    }
    const auto fit = fit_kernels(kernels);
    REQUIRE(fit);
    CHECK(fit->error_held_out >= fit->error_fitted);
    CHECK(fit->error_held_out > 0.01);
}

TEST_CASE("a time may be that of several kernels of one model") {
    const KernelModel model{3e-6, 2e-9, 0.9, 1, 0.7, 2};
    std::vector<TimedKernel> kernels = made_by(model);
    for (std::size_t i = 1; i < kernels.size(); i += 2) {
        TimedKernel& kernel = kernels[i];
        kernel.more.push_back(kernels[i - 1].point);
        kernel.time_s += seconds_of(model, kernel.more.front());
    }
    const auto fit = fit_kernels(kernels);
    REQUIRE(fit);
    CHECK(fit->model.fixed_s == approx(3e-6).epsilon(0.05));
    CHECK(fit->model.memory == approx(0.7).epsilon(0.02));
    CHECK(fit->error_fitted < 0.005);
    // without the kernels in the same time, the measurements result in another model
    for (TimedKernel& kernel : kernels) kernel.more.clear();
    CHECK(fit_kernels(kernels)->error_fitted > 0.05);
}

TEST_CASE("noise is not fitted, in any order of rows, and a fraction of math that no row determines keeps its value") {
    std::vector<TimedKernel> kernels;
    for (std::size_t i = 1; i <= 60; ++i) {
        const double memory = 1e-6 * std::pow(1.2, static_cast<double>(i));
        // matmuls are a thousandth of the time and correlated with the noise, so that a fit would use them to explain
        // it
        const double math = memory / 1e3 * (1 + 0.9 * noise(i));
        kernels.push_back({{math, 0, memory, 0, 0}, (2e-6 + memory / 0.8) * (1 + 0.03 * noise(i))});
    }
    const auto fit = fit_kernels(kernels);
    REQUIRE(fit);
    CHECK(fit->model.memory == approx(0.8).epsilon(0.02));
    CHECK(fit->model.fixed_s == approx(2e-6).epsilon(0.1));
    CHECK(fit->model.math > 0.8);
    CHECK(fit->error_held_out < 0.03);
    CHECK(fit->error_held_out >= fit->error_fitted * 0.9);
    std::reverse(kernels.begin(), kernels.end());
    CHECK(fit_kernels(kernels)->model == fit->model);
}

TEST_CASE("rows that cannot be right are left out, and wild ones do not bend the model") {
    const KernelModel model{3e-6, 0, 0.9, 1, 0.7, 2};
    std::vector<TimedKernel> kernels = made_by(model);
    kernels[3].time_s *= 1e6;    // microseconds instead of seconds
    kernels[20].time_s /= 1000;  // faster than any bound
    kernels[10].time_s *= 4;     // a disturbed run
    kernels[25].time_s *= 3;
    kernels.push_back({{1e-6, 0, 1e-6, 0, 64}, -1});
    kernels.push_back({{std::nan(""), 0, 1e-6, 0, 64}, 1e-6});
    const auto fit = fit_kernels(kernels);
    REQUIRE(fit);
    CHECK(fit->left_out == 4);
    CHECK(fit->rows == 37);
    CHECK(fit->model.math == approx(0.9).epsilon(0.03));
    CHECK(fit->model.memory == approx(0.7).epsilon(0.03));
}

TEST_CASE("the same kernel timed again is not what an error held out is measured by") {
    // ten kernels with times that fit no model, each timed five times
    std::vector<TimedKernel> kernels;
    for (std::size_t i = 0; i < 10; ++i) {
        const double memory = 1e-3 * static_cast<double>(1 + i);
        for (int again = 0; again < 5; ++again) {
            kernels.push_back({{0, 0, memory, 0, 0}, memory * (1.5 + 0.4 * noise(i + 7))});
        }
    }
    const auto fit = fit_kernels(kernels);
    REQUIRE(fit);
    CHECK(fit->error_held_out > fit->error_fitted);
}

TEST_CASE("too few kernels make no model") {
    std::vector<TimedKernel> kernels = made_by({3e-6, 0, 0.9, 1, 0.7, 2});
    kernels.resize(min_kernels - 1);
    CHECK_FALSE(fit_kernels(kernels));
    CHECK_FALSE(fit_kernels({}));
}

TEST_CASE("factors by size are taken where held out rows are nearer with them") {
    const KernelModel model{3e-6, 0, 0.8, 1, 0.75, 2};
    const auto fitted = [&](double narrow) {
        std::vector<TimedKernel> kernels;
        for (double m = 1; m <= 4096; m *= 2) {
            for (double n = 128; n <= 8192; n *= 2) {
                for (double k = 128; k <= 8192; k *= 2) {
                    const KernelPoint point = product_point(m, n, k, 0);
                    // kernels with few rows are slower, which no term of the model describes
                    kernels.push_back({point, seconds_of(model, point) * (m <= 16 && n >= 1024 ? narrow : 1)});
                }
            }
        }
        return fit_kernels(std::move(kernels));
    };
    const auto smooth = fitted(1);
    REQUIRE(smooth);
    CHECK(smooth->factors.logs.empty());
    const auto stepped = fitted(1.3);
    REQUIRE(stepped);
    REQUIRE_FALSE(stepped->factors.logs.empty());
    // without factors it is at least 0.08, because a third of the measurements deviates by 30 %
    CHECK(stepped->error_held_out < 0.05);
    CHECK(stepped->error_fitted < 0.05);
    const KernelPoint point = product_point(4, 4096, 4096, 0);
    CHECK(seconds_of(*stepped, point) == approx(1.3 * seconds_of(model, point)).epsilon(0.05));
}
