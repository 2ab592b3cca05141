#include "import/xprof_table.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "text/shared_text_test.hpp"

using namespace roofline::core;

namespace {

constexpr const char* stats =
    "Rank,HLO op name,HLO op category,#Occurrences,Total time (us),Total self time (us),Model GFLOP/s,Measured memory "
    "BW "
    "(GiB/s),HBM BW (GiB/s)\n"
    "1,while.3,while,2,5000,0,1,1,1\n"
    "2,fusion.7,convolution fusion,4,2000,2000,100000,200,100\n"
    "3,add.1,loop fusion,8,1000,1000,10,400,400\n";

}  // namespace

// 100,000 GFLOP/s for 2 ms are 200 GFLOP, and 100 GiB/s for 2 ms 0.2 GiB.
TEST_CASE("xprof: FLOPs and bytes follow from rates and times") {
    const auto profile = read_kernel_profile(stats, "hlo_stats.csv");
    REQUIRE(profile);
    CHECK(profile->tool == "xprof");
    REQUIRE(profile->kernels.size() == 2);  // a loop has no time of its own
    const ProfiledKernel& fusion = profile->kernels[0];
    CHECK(fusion.name == "fusion.7");
    CHECK(fusion.launches == 4);
    CHECK(fusion.time_s == approx(2e-3));
    REQUIRE(fusion.flops.size() == 1);
    CHECK(fusion.flops[0].unit == Unit::matmul);
    CHECK(fusion.flops[0].dtype == Dtype::bf16);
    CHECK(fusion.flops[0].flops == approx(2e11));
    CHECK(fusion.bytes.at("hbm") == approx(0.2 * 1024 * 1024 * 1024));
    CHECK(profile->kernels[1].flops[0].unit == Unit::vector);
    CHECK(profile->notes.size() == 1);
}

TEST_CASE("xprof: JSON has the same columns by their ids") {
    const std::string text = R"([{"cols":[{"id":"x"}],"rows":[]},
        {"cols":[{"id":"step"},{"id":"operation"},{"id":"category"},{"id":"occurrences"},{"id":"total_time"},
                 {"id":"total_self_time"},{"id":"model_flop_rate"},{"id":"hbm_bw"}],
         "rows":[{"c":[{"v":"Total"},{"v":"Program"},{"v":"Program"},{"v":1},{"v":9},{"v":9},{"v":9},{"v":9}]},
                 {"c":[{"v":"Total"},{"v":"dot.1"},{"v":"dot"},{"v":2},{"v":10.5},{"v":10.5},{"v":1000},{"v":2}]},
                 {"c":[{"v":"7"},{"v":"dot.1"},{"v":"dot"},{"v":1},{"v":5},{"v":5},{"v":1000},{"v":2}]}]}])";
    CHECK(is_xprof_json(text));
    const auto profile = read_kernel_profile(text, "roofline_model.json");
    REQUIRE(profile);
    REQUIRE(profile->kernels.size() == 1);
    CHECK(profile->kernels[0].launches == 2);
    CHECK(profile->kernels[0].flops[0].flops == approx(1.05e7));
    CHECK(profile->kernels[0].bytes.at("hbm") == approx(2.0 * 1024 * 1024 * 1024 * 10.5e-6));
    const auto other = read_kernel_profile(R"({"cols":[{"id":"a"}],"rows":[]})", "x.json");
    REQUIRE_FALSE(other);
    CHECK(other.error().code == "unknown_table");
    const auto wrong = read_kernel_profile(std::string(text).replace(text.find("10.5"), 4, "\"ten"), "x.json");
    CHECK_FALSE(wrong);
}

// Its only operation: 50 ms at 90 GFLOP/s and 180 GiB/s.
TEST_CASE("xprof: the fixture of its command line") {
    const auto text = shared_text("samples/xprof/roofline_model_v6e_fixture.json");
    if (!text) return;
    const auto profile = read_kernel_profile(*text, "roofline_model.json");
    REQUIRE(profile);
    REQUIRE(profile->kernels.size() == 1);
    CHECK(profile->kernels[0].name == "psum.118");
    CHECK(profile->kernels[0].flops[0].flops == approx(90e9 * 0.05));
    CHECK(profile->kernels[0].bytes.at("hbm") == approx(180.0 * 1024 * 1024 * 1024 * 0.05));
}
