#include "calibrate/attention_blend.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace roofline::core {

namespace {

/// `tokens` queries of 4 heads that share keys.
KernelPoint queries_to(double tokens, double keys) {
    KernelPoint point;
    point.m = 4 * tokens;
    point.heads = 4;
    point.n = 128;
    point.batch = 8;
    point.depth = keys;
    point.whole_rows = true;
    return point;
}

CalibratedKernel taking_us(KernelKind kind, double us) {
    CalibratedKernel kernel;
    kernel.key.kind = kind;
    kernel.fit.model.fixed_s = us * 1e-6;
    kernel.fit.error_held_out = 0.1;
    return kernel;
}

}  // namespace

TEST_CASE("causal attention of few queries to a long context takes the model of decode steps") {
    const CalibratedKernel prefill = taking_us(KernelKind::causal_attention, 160);
    const CalibratedKernel decode = taking_us(KernelKind::attention, 10);
    const auto us = [&](double tokens, double keys) {
        return seconds_of(prefill.fit, &decode, queries_to(tokens, keys)) * 1e6;
    };
    CHECK(us(2, 2) == doctest::Approx(160));     // a prompt, as measured
    CHECK(us(2, 8) == doctest::Approx(10));      // four times as many keys
    CHECK(us(2, 4) == doctest::Approx(40));      // halfway: the square root of 160 x 10
    CHECK(us(32, 4096) == doctest::Approx(10));  // 128 rows
    CHECK(us(64, 4096) == doctest::Approx(40));  // 256 of 128 to 512 rows
    CHECK(us(128, 4096) == doctest::Approx(160));
    CHECK(seconds_of(prefill.fit, nullptr, queries_to(2, 4096)) * 1e6 == doctest::Approx(160));
    // one more token never causes a jump
    for (double tokens = 2; tokens < 256; tokens += 1) {
        CHECK(us(tokens + 1, 4096) < us(tokens, 4096) * 1.1);
        CHECK(us(tokens + 1, 4096) >= us(tokens, 4096) * (1 - 1e-12));
    }
}

TEST_CASE("a model of prefill that was measured with cached tokens keeps to them") {
    KernelFit prefill;
    prefill.keys_per_query = 1025;
    CHECK(decode_share(prefill, queries_to(16, 16'400)) == doctest::Approx(0));
    CHECK(decode_share(prefill, queries_to(2, 4 * 2050)) == doctest::Approx(1));
    prefill.keys_per_query = 0;  // of a file that does not say so
    CHECK(decode_share(prefill, queries_to(16, 16'400)) == doctest::Approx(1));
    KernelPoint unknown = queries_to(2, 4096);
    unknown.heads = 0;
    CHECK(decode_share(prefill, unknown) == doctest::Approx(0));
}

TEST_CASE("a decode step where only prefill was measured takes a launch and twice its bound") {
    CalibratedKernel prefill = taking_us(KernelKind::attention, 500);
    prefill.fit.ranges.front() = {512, 16'384};
    REQUIRE(lacks_decode(prefill.fit));
    const auto us = [&](double tokens) {
        KernelPoint point = queries_to(tokens, 4096);
        point.memory_s = 100e-6;
        return seconds_of(prefill.fit, nullptr, point) * 1e6;
    };
    CHECK(us(1) == doctest::Approx(203));  // 3 us + 100 us / 0.5
    CHECK(us(32) == doctest::Approx(203));
    CHECK(us(64) == doctest::Approx(std::sqrt(203.0 * 600)));
    CHECK(us(128) == doctest::Approx(600));  // 500 us + 100 us
    // a model of few rows, too, keeps to itself
    prefill.fit.ranges.front() = {4, 16'384};
    CHECK_FALSE(lacks_decode(prefill.fit));
    CHECK(us(1) == doctest::Approx(600));
    prefill.fit.ranges.front() = {};
    CHECK_FALSE(lacks_decode(prefill.fit));
}

TEST_CASE("between decode steps and prefill, none of which was measured, no number of queries makes the time jump") {
    // 128 groups of heads on 304 cores: two tiles of 128 rows each are one wave, three are two
    CalibratedKernel prefill = taking_us(KernelKind::attention, 16);
    prefill.fit.model.math = 0.25;
    prefill.fit.model.tiled = true;
    prefill.fit.model.split_s = 1;  // no splits
    prefill.fit.ranges.front() = {1024, 4096};
    const auto point_of = [](double tokens) {
        KernelPoint point = queries_to(tokens, 4096);
        point.batch = 128;
        point.cores = 304;
        point.math_s = tokens * 0.82e-6;
        point.write_s = tokens * 0.02e-6;
        point.memory_s = 51e-6 + 2 * point.write_s;
        return point;
    };
    const auto us = [&](double tokens) { return seconds_of(prefill.fit, nullptr, point_of(tokens)) * 1e6; };
    // 128 queries: the model, whose four tiles of 128 rows in two waves take as much as 4.75 tiles in 1.6 waves:
    // 16 us + 0.82 us x 128 / 0.25 x 2 x 304 / (4 x 128)
    const double prefill_us = 16 + 0.82 * 128 / 0.25 * (2 * 304.0 / (4 * 128));
    CHECK(us(128) == doctest::Approx(prefill_us));
    // 32 queries: 3 us and twice the time of the memory, 51 us + 2 x 0.02 us x 32
    const double decode_us = 3 + 2 * (51 + 2 * 0.02 * 32);
    CHECK(us(32) == doctest::Approx(decode_us));
    // 64 queries, 256 of 128 to 512 rows: the geometric mean of both
    CHECK(us(64) == doctest::Approx(std::sqrt(prefill_us * decode_us)));
    for (double tokens = 1; tokens < 128; tokens += 1) {
        CHECK(us(tokens + 1) < us(tokens) * 1.06);
        CHECK(us(tokens + 1) >= us(tokens) * (1 - 1e-12));
    }
}

TEST_CASE("the error where another kind of attention takes part is that of one kind by another") {
    CalibratedKernel other = taking_us(KernelKind::attention, 10);
    CHECK(error_of_other(other) == doctest::Approx(0.36));
    other.fit.error_held_out = 0.5;
    CHECK(error_of_other(other) == doctest::Approx(0.5));
}

}  // namespace roofline::core
