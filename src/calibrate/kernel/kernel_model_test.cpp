#include "calibrate/kernel/kernel_model.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

using namespace roofline::core;

namespace {

/// Rows and columns of a tile, splits, waves, tiles.
using Shape = std::array<double, 5>;

Shape shape(const Tiling& tiling) { return {tiling.rows, tiling.columns, tiling.splits, tiling.waves, tiling.tiles}; }

}  // namespace

TEST_CASE("the model of a kernel is the lower bound at p = infinity and the upper bound at p = 1") {
    const KernelPoint point{3e-6, 0, 4e-6, 0, 4096};
    KernelModel model;
    CHECK(seconds_of(model, point) == approx(4e-6));
    model.p = 1;
    CHECK(seconds_of(model, point) == approx(7e-6));
    model.p = 2;  // a right triangle with sides 3, 4 and 5
    CHECK(seconds_of(model, point) == approx(5e-6));
}

TEST_CASE("fractions, fixed cost and ramp of a kernel's model") {
    KernelModel model;
    model.fixed_s = 2e-6;
    model.ramp_s = 1e-9;
    model.math = 0.75;
    model.memory = 0.8;
    // 6 us of matmul time at 0.75 are 8 us, 4.8 us of memory time at 0.8 are 6 us: the hypotenuse is 10 us; 1000
    // elements of ramp take 1 us
    model.p = 2;
    CHECK(seconds_of(model, {6e-6, 0, 4.8e-6, 0, 1000}) == approx(13e-6));
    // vector work and other levels are separate parts
    model.vector = 0.5;
    CHECK(seconds_of(model, {0, 3e-6, 0, 8e-6, 0}) == approx(12e-6));
    CHECK(seconds_of(model, {}) == approx(2e-6));
}

TEST_CASE("whole sides of an array, and results between matmuls that cross main memory") {
    KernelPoint point{6e-6, 0, 4e-6, 0, 0};
    point.padding_s = 2e-6;
    point.inner_s = 3e-6;
    KernelModel model;
    model.p = 1;
    model.math = 0.5;
    CHECK(seconds_of(model, point) == approx(16e-6));
    model.padded = true;  // 8 us of matmul time at half of the rate
    CHECK(seconds_of(model, point) == approx(20e-6));
    point.group = 256;
    model.straddle = 128;  // half a group more, 3 us at half of the rate
    CHECK(seconds_of(model, point) == approx(26e-6));
    model.straddle = 0;
    model.inner = 0.25;  // they cross it four times
    CHECK(seconds_of(model, point) == approx(32e-6));
}

TEST_CASE("a norm neither overflows nor loses what is small") {
    CHECK(norm_of({1e300, 1e300, 0, 0}, 2) == approx(1.4142135623730951e300));
    CHECK(norm_of({1e-300, 0, 0, 1e-300}, 64) == approx(1.0108892860517005e-300));  // 2^(1/64)
    CHECK(norm_of({0, 0, 0, 0}, 3) == 0);
    CHECK(norm_of({1, 2, 3, 4}, std::numeric_limits<double>::infinity()) == 4);
}

TEST_CASE("tiles come in whole waves, and the depth is split where that is cheaper") {
    // 128 x 512 on 4 cores, 8 us of matmul time; each core has a quarter of the rate
    KernelPoint point{8e-6, 0, 0, 0, 1024};
    point.m = 128;
    point.n = 512;
    point.batch = 1;
    point.cores = 4;
    KernelModel model;
    CHECK(tiling_of(model, point) == Tiling{});
    model.tiled = true;
    model.wave_s = 1e-6;
    // 128 x 256 leaves two of the cores idle, 16 us; 64 x 64 takes 4 waves, 8 us and 3 starts; 128 x 128 takes one wave
    // of 8 us
    CHECK(shape(tiling_of(model, point)) == Shape{128, 128, 1, 1, 4});
    CHECK(seconds_of(model, point) == approx(8e-6));
    // 10.24 us of ramp: a quarter of it for tiles of 128 x 256 in 4 splits, which are 8 tiles in 2 waves: 8 + 2.56 + 1
    // + 1
    model.ramp_s = 10e-9;
    model.split_s = 1e-6;
    CHECK(shape(tiling_of(model, point)) == Shape{128, 256, 4, 2, 8});
    CHECK(seconds_of(model, point) == approx(12.56e-6));
    // the same matmul with its sides exchanged
    std::swap(point.m, point.n);
    CHECK(seconds_of(model, point) == approx(12.56e-6));
    // no splits if partial results take longer than the whole ramp
    point.partial_sums_s = 20e-6;
    CHECK(tiling_of(model, point).splits == 1);
    // a depth of 100 does not have two splits of 64
    point.partial_sums_s = 0;
    point.depth = 100;
    CHECK(tiling_of(model, point).splits == 1);
}

TEST_CASE("a split shorter than 64 takes as long as one of 64, so that no depth is where splits begin") {
    KernelModel model;
    model.ramp_s = 1e-9;
    model.tiled = true;
    KernelPoint point;
    point.m = 64;
    point.n = 64;
    point.batch = 1;
    point.cores = 128;
    for (const double depth :
         {65.0, 96.0, 127.0, 128.0, 767.0, 768.0, 1000.0, 1023.0, 1024.0, 1025.0, 2047.0, 2048.0}) {
        point.depth = depth;
        CHECK(seconds_of(model, point) == approx(64e-9));  // splits cost nothing here, so there are as many as help
    }
    point.depth = 40;
    CHECK(seconds_of(model, point) == approx(40e-9));
    point.depth = 3200;  // at most 32 splits
    CHECK(seconds_of(model, point) == approx(100e-9));
}

TEST_CASE("a core makes all columns of attention's rows") {
    // 3 sequences of 16 heads over latents of 512: three tiles of 64 x 512, in each of which 48 rows are empty, on 4
    // cores
    KernelPoint point{3e-6, 0, 0, 0, 1000};
    point.m = 16;
    point.n = 512;
    point.batch = 3;
    point.cores = 4;
    KernelModel model;
    model.tiled = true;
    model.by_rows = true;
    model.ramp_s = 1e-9;
    CHECK(shape(tiling_of(model, point)) == Shape{64, 64, 1, 6, 24});
    point.whole_rows = true;
    CHECK(shape(tiling_of(model, point)) == Shape{64, 512, 1, 1, 3});
    // a wave of four such tiles has 16 / 3 times the elements
    CHECK(seconds_of(model, point) == approx(16e-6 + 1e-6));
    model.by_rows = false;
    CHECK(tiling_of(model, point).columns == 512);
}

TEST_CASE("one element more takes a wave more") {
    KernelPoint point{1e-6, 0, 0, 0, 64};
    point.m = 64;
    point.n = 64 * 10;
    point.batch = 1;
    point.cores = 10;
    KernelModel model;
    model.tiled = true;
    CHECK(seconds_of(model, point) == approx(1e-6));
    // 641 columns: 11 tiles of 64 x 64 are 2 waves; 6 tiles of 128 x 128 are one wave with the time of 4
    point.n += 1;
    point.math_s *= 641.0 / 640;
    CHECK(seconds_of(model, point) == approx(2e-6));
}

TEST_CASE("what fits the cache comes from there, and writes have a rate of their own") {
    KernelPoint point{0, 0, 10e-6, 0, 0};
    point.write_s = 4e-6;
    KernelModel model;
    model.memory = 0.75;
    CHECK(seconds_of(model, point) == approx(10e-6 / 0.75));
    model.write = 0.5;  // 6 / 0.75 + 4 / 0.5
    CHECK(seconds_of(model, point) == approx(16e-6));
    model.warm = 0.2;
    model.cache = 2.5;
    point.fill = 0.2;  // half of the data is in the cache: 8 + 10 / 2.5 / 2
    CHECK(seconds_of(model, point) == approx(10e-6));
    point.fill = 0.01;
    CHECK(seconds_of(model, point) == approx(4e-6).epsilon(1e-6));
    point.fill = 5;
    CHECK(seconds_of(model, point) == approx(16e-6).epsilon(1e-6));
    point.fill = 0;  // no cache is known
    CHECK(seconds_of(model, point) == approx(16e-6));
}

TEST_CASE("few tiles do not draw the memory's full rate") {
    KernelPoint point{0, 0, 10e-6, 0, 32};
    point.m = 64;
    point.n = 64;
    point.batch = 3;
    point.cores = 12;
    KernelModel model;
    model.tiled = true;
    CHECK(seconds_of(model, point) == approx(10e-6));
    point.memory_Bps = 600e9;
    model.core_Bps = 100e9;  // six cores achieve the full rate, three tiles half of it
    CHECK(seconds_of(model, point) == approx(20e-6));
    // with half of the memory's rate the same bytes take twice as long, and three cores achieve it
    point.memory_s = 20e-6;
    point.memory_Bps = 300e9;
    CHECK(seconds_of(model, point) == approx(20e-6));
    point.memory_s = 10e-6;
    point.memory_Bps = 600e9;
    point.batch = 7;
    CHECK(seconds_of(model, point) == approx(10e-6));
    // at four times the memory's rate 24 of such cores would be needed, but all twelve achieve it: twelve tiles take
    // the time of the memory, three tiles four times as long
    point.memory_Bps = 2400e9;
    point.batch = 12;
    CHECK(seconds_of(model, point) == approx(10e-6));
    point.batch = 3;
    CHECK(seconds_of(model, point) == approx(40e-6));
}

TEST_CASE("heads beyond those that share keys read them again, each in tiles of its own") {
    // 96 heads of one query and size 64, for 2 sequences: keys and values are 8 of 10 us of memory time
    KernelPoint point{0, 0, 10e-6, 0, 64};
    point.m = 96;
    point.n = 64;
    point.batch = 2;
    point.cores = 8;
    point.heads = 96;
    point.shared_read_s = 8e-6;
    KernelModel model;
    model.reread = 4;
    CHECK(seconds_of(model, point) == approx(10e-6));
    model.share = 96;
    CHECK(separate_heads(model, point) == point);
    model.share = 32;  // 95 heads read 8 us at four times the rate
    CHECK(seconds_of(model, point) == approx(10e-6 + 95 * 8e-6 / 4));
    const KernelPoint each = separate_heads(model, point);
    CHECK(each.m == 1);
    CHECK(each.batch == 192);
    CHECK(separate_heads(model, each) == each);
    // 192 tiles on 8 cores are 24 waves, instead of 2 x 2 tiles in one
    model.tiled = true;
    model.wave_s = 1e-6;
    CHECK(seconds_of(model, point) == approx(223e-6));
    model.share = 0;
    CHECK(seconds_of(model, point) == approx(10e-6));
    // prefill: 4 heads of 64 queries
    point.m = 4 * 64;
    point.heads = 4;
    model.share = 1;
    CHECK(separate_heads(model, point).m == 64);
    CHECK(separate_heads(model, point).batch == 8);
}

TEST_CASE("rows cost what a core takes for each of its own") {
    KernelPoint point{0, 0, 3e-6, 0, 0};
    point.rows = 1000;
    KernelModel model;
    model.row_s = 0.5e-6;
    CHECK(seconds_of(model, point) == approx(503e-6));
    point.cores = 100;
    CHECK(seconds_of(model, point) == approx(8e-6));
}

TEST_CASE("tiles by the rows alone take as long as one core does for its whole depth") {
    KernelPoint point{1e-6, 0, 0, 0, 4096};
    point.n = 32;
    point.batch = 1;
    point.cores = 100;
    KernelModel model;
    model.tiled = true;
    model.by_rows = true;
    const auto tiling = [&](double m) {
        point.m = m;
        return tiling_of(model, point);
    };
    CHECK(shape(tiling(1)) == Shape{64, 64, 1, 1, 1});
    CHECK(shape(tiling(64)) == Shape{64, 64, 1, 1, 1});
    CHECK(shape(tiling(65)) == Shape{64, 128, 1, 1, 2});
    CHECK(shape(tiling(128)) == Shape{64, 128, 1, 1, 2});
    CHECK(shape(tiling(129)) == Shape{128, 128, 1, 1, 2});
    // one core of 100 computes 128 x 128 for 256 x 32: twice the work at a hundredth of the rate
    point.m = 256;
    CHECK(seconds_of(model, point) == approx(200e-6));
}

TEST_CASE("the search finds the cheapest of all tilings wherever it begins") {
    KernelModel model{3e-6, 0.3e-9, 0.75, 1, 0.85, 1};
    model.tiled = true;
    model.split_s = 2e-6;
    model.wave_s = 0.5e-6;
    model.partial = 2;
    model.core_Bps = 25e9;
    for (const double p : {1.0, 1.1, 1.25, 1.9, 2.5, 3.3, 5.0, 12.0, 30.0, std::numeric_limits<double>::infinity()}) {
        model.p = p;
        for (const double m : {1.0, 100.0, 700.0, 5000.0}) {
            for (const double k : {100.0, 3000.0, 20000.0}) {
                KernelPoint point{m * k * 1e-11, 0, (m + 500) * k * 1e-12, 2e-6, k};
                point.partial_sums_s = m * 2e-9;
                point.m = m;
                point.n = 500;
                point.batch = 1;
                point.cores = 132;
                point.memory_Bps = 66 * model.core_Bps;
                const Tilings tilings = tilings_of(point);
                const std::span<const Tiling> all = tilings;
                double least = std::numeric_limits<double>::infinity();
                for (const Tiling& each : all) {
                    least = std::min(least, overhead_of(model, point, each) + norm_of(parts_of(model, point, each), p));
                }
                CAPTURE(p);
                CAPTURE(m);
                CAPTURE(k);
                for (const std::size_t near : {std::size_t{0}, all.size() - 1}) {
                    CHECK(cheapest(model, point, all, near).seconds() == approx(least));
                }
            }
        }
    }
}

TEST_CASE("slopes of a norm are what it changes by with its parts") {
    constexpr double step = 1e-7;
    const std::array<double, kernel_parts> parts{3, 0, 2, 1};
    for (const double p : {1.0, 2.5, 7.0}) {
        KernelModel model;
        model.p = p;
        const TilingTime time = cheapest(model, {parts[0], parts[1], parts[2], parts[3]}, std::array{Tiling{}});
        const auto slopes = slopes_of(time.norm, time.parts);
        for (std::size_t i = 0; i < kernel_parts; ++i) {
            if (parts[i] == 0) continue;
            auto more = parts;
            more[i] += step;
            CHECK(slopes[i] == approx((norm_of(more, p) - norm_of(parts, p)) / step).epsilon(1e-5));
        }
    }
}
