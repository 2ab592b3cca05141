#include "calibrate/kernel/extrapolation.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

/// A matmul of m x n x depth on 100 cores that takes only its ramp of 1 ns per element of the depth.
KernelPoint ramped(double depth) {
    KernelPoint point;
    point.m = point.n = point.batch = 1;
    point.cores = 100;
    point.depth = depth;
    return point;
}

KernelFit ramp_alone() {
    KernelFit fit;
    fit.model.ramp_s = 1e-9;
    fit.model.tiled = true;
    fit.ranges = {{{1, 64}, {32, 64}, {32, 6400}, {1, 1}}};
    return fit;
}

}  // namespace

TEST_CASE("a file of growths is read strictly, and sizes that nothing tells of have the worst of their class") {
    const auto all = parse_extrapolation(
        "[[growth]]\nkind = \"products\"\nsize = \"depth\"\nside = \"above\"\nper_doubling = 0.25\ngroups = 3\n"
        "[[growth]]\nkind = \"others\"\nsize = \"columns\"\nside = \"below\"\nper_doubling = 0.125\ngroups = 2\n",
        "x.toml");
    REQUIRE_MESSAGE(all, to_text(all.error()));
    CHECK(all->of(KernelKind::contraction)[2].above == 0.25);
    CHECK(all->of(KernelKind::contraction)[0].below == 0.25);
    CHECK(all->of(KernelKind::reduction)[1].below == 0.125);
    CHECK(all->of(KernelKind::causal_attention)[2].above == 0);
    CHECK_FALSE(parse_extrapolation("[[growth]]\nkind = \"tea\"\nsize = \"m\"\nside = \"above\"\nper_doubling = 0.1\n",
                                    "x.toml"));
    CHECK_FALSE(parse_extrapolation(
        "[[growth]]\nkind = \"others\"\nsize = \"m\"\nside = \"above\"\nper_doubling = -1\n", "x.toml"));
}

TEST_CASE("the file that is built in says something of every class") {
    const Extrapolation& all = built_in_extrapolation();
    for (const KernelKind kind :
         {KernelKind::contraction, KernelKind::grouped_contraction, KernelKind::attention, KernelKind::elementwise}) {
        CHECK(all.of(kind)[0].above > 0);
        CHECK(all.of(kind)[1].below > 0);
    }
}

TEST_CASE("an error grows with the doublings beyond the sizes that were measured, and not inside") {
    const KernelFit fit = ramp_alone();
    Growths growths{};
    growths[2].above = 0.1;
    growths[1].below = 0.03;
    KernelPoint inside = ramped(6400);
    inside.n = 32;
    CHECK(extrapolation_error(fit, growths, inside) == 0);
    CHECK(sizes_out_of_range(fit, inside).empty());
    // 8 times the largest depth is three doublings, and one column is five doublings below 32
    CHECK(extrapolation_error(fit, growths, ramped(8 * 6400)) == approx(3 * 0.1 + 5 * 0.03));
    const auto beyond = sizes_out_of_range(fit, ramped(8 * 6400));
    REQUIRE(beyond.size() == 2);
    CHECK(beyond[0].size == 1);
    CHECK(beyond[0].limit == 32);
    CHECK(beyond[1].value == 8 * 6400);
    CHECK(beyond[1].limit == 6400);
    // without known ranges nothing is extrapolated
    CHECK(extrapolation_error({}, growths, ramped(1e9)) == 0);
}

TEST_CASE("columns of the last product of attention's backward pass are no head that was not measured") {
    const KernelFit fit = ramp_alone();
    KernelPoint point = ramped(6400);
    point.heads = 4;
    point.n = 4096;
    CHECK(sizes_out_of_range(fit, point).empty());
    point.whole_rows = true;  // the forward pass, whose last matmul has the columns of a head
    CHECK(sizes_out_of_range(fit, point).size() == 1);
    // gradients of keys are sums over the queries of 16 heads; the number of keys is in the measured range
    point = ramped(16 * 6400);
    point.heads = 4;
    CHECK(sizes_out_of_range(fit, point).empty());
    point.whole_rows = true;
    CHECK(!sizes_out_of_range(fit, point).empty());
}

TEST_CASE("a depth beyond those measured is split further, each split no longer than the longest that was") {
    KernelFit fit = ramp_alone();
    // 6400 in 32 splits: 200 sequential elements. The same holds for 100 times the depth in 100 times as many splits.
    CHECK(seconds_of(fit, ramped(6400)) == approx(200e-9));
    CHECK(seconds_of(fit, ramped(640'000)) == approx(200e-9));
    // continuous at the end of the range
    CHECK(seconds_of(fit, ramped(6401)) == approx(seconds_of(fit, ramped(6400))));
    // a library that never splits adds all of them sequentially
    fit.model.by_rows = true;
    CHECK(seconds_of(fit, ramped(640'000)) == approx(640e-6));
}

TEST_CASE("beyond the depths that were measured a product with a vector grows by what it reads") {
    KernelFit fit = ramp_alone();
    fit.model.memory = 0.5;
    // in tiles of 64 x 64, one on each of 100 cores, the measured tenth computes 32 splits in 0.5 ns * 100 * 4096 / 32,
    // and ten times that depth four waves of them: 25.6 us
    KernelPoint point = ramped(64'000);
    point.math_s = 5e-9;
    point.memory_s = 10e-6;
    // 200 ns of ramp and 6.4 us for the tenth, and 9 us of reads at half the rate for the rest
    CHECK(seconds_of(fit, point) == approx(200e-9 + 6.4e-6 + 18e-6));
}
