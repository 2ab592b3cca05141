#include "import/op_profile.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "import/xprof_table.hpp"
#include "text/shared_text_test.hpp"

using namespace roofline::core;

namespace {

// A category with three instructions of which two were pruned, and idle time.
constexpr std::string_view by_category =
    R"json({"byCategory":{"name":"by_category","metrics":{"rawTime":4e9},"children":[
  {"name":"convolution fusion","numChildren":3,
   "metrics":{"rawTime":3e9,"rawFlops":2.9e11,"rawBytesAccessedArray":[6e8,5,5],"occurrences":8},"children":[
    {"name":"fusion.3","metrics":{"rawTime":2e9,"rawFlops":2e11,"occurrences":4,"rawBytesAccessedArray":[4e8,1,2]},
     "xla":{"op":"fusion","category":"convolution fusion","expression":"%fusion.3 = bf16[8] fusion(..)"},
     "children":[{"name":"dot.1","metrics":{"rawFlops":2e11},"xla":{"category":"convolution"}}]}]},
  {"name":"IDLE","metrics":{"rawTime":1e9},"xla":{"category":"IDLE"}}]},"deviceType":"TPU v5e"})json";

}  // namespace

// 2e9 ps are 2 ms; what is left of the category's sums is 1 ms, 90 GFLOP and 200 MB.
TEST_CASE("op_profile: instructions have their sums, and what was pruned stands as the rest of its category") {
    CHECK(is_xprof_json(by_category));
    const auto profile = read_kernel_profile(by_category, "op_profile.json");
    REQUIRE(profile);
    CHECK(profile->tool == "xprof");
    REQUIRE(profile->kernels.size() == 2);
    const ProfiledKernel& fusion = profile->kernels[0];
    CHECK(fusion.name == "fusion.3");
    CHECK(fusion.launches == 4);
    CHECK(fusion.time_s == approx(2e-3));
    REQUIRE(fusion.flops.size() == 1);
    CHECK(fusion.flops[0].flops == 2e11);  // those of the dot inside of it are among them
    CHECK(fusion.flops[0].unit == Unit::matmul);
    CHECK(fusion.flops[0].dtype == Dtype::bf16);
    CHECK(fusion.bytes.at("hbm") == 4e8);
    const ProfiledKernel& rest = profile->kernels[1];
    CHECK(rest.name == "convolution fusion: others");
    CHECK(rest.time_s == approx(1e-3));
    CHECK(rest.flops[0].flops == approx(9e10));
    CHECK(rest.flops[0].unit == Unit::matmul);
    CHECK(rest.bytes.at("hbm") == approx(2e8));
    REQUIRE(profile->notes.size() == 3);
    CHECK(profile->notes[1].find("idle for 1 ms") != std::string::npos);
    CHECK(profile->notes[2].find("2 instructions") != std::string::npos);
}

TEST_CASE("op_profile: by program, instructions of several programs have the program's name, groups of equals none") {
    const auto profile = read_kernel_profile(
        R"json({"byCategory":{"children":[]},"byProgram":{"children":[
      {"name":"jit_step(1)","children":[{"name":"loop fusion","children":[
        {"name":"add.1 and its duplicate(s)","metrics":{"rawTime":3e6,"rawFlops":30},"children":[
          {"name":"add.1","metrics":{"rawTime":2e6,"rawFlops":20},"xla":{"category":"loop fusion"}},
          {"name":"add.2","metrics":{"rawTime":1e6,"rawFlops":10},"xla":{"category":"loop fusion"}}]}]}]},
      {"name":"jit_eval(2)","children":[{"name":"loop fusion","children":[
        {"name":"add.1","metrics":{"rawTime":5e6},"xla":{}}]}]}]}})json",
        "op_profile.json");
    REQUIRE(profile);
    REQUIRE(profile->kernels.size() == 3);
    CHECK(profile->kernels[0].name == "jit_step(1): add.1");
    CHECK(profile->kernels[0].flops[0].flops == 20);
    CHECK(profile->kernels[0].flops[0].unit == Unit::vector);
    CHECK(profile->kernels[1].name == "jit_step(1): add.2");
    CHECK(profile->kernels[2].name == "jit_eval(2): add.1");
    CHECK(profile->kernels[2].time_s == approx(5e-6));
    CHECK(profile->kernels[2].flops.empty());
}

TEST_CASE("op_profile: bad metrics are refused with their place") {
    const auto error = [](std::string_view text) {
        const auto profile = read_kernel_profile(text, "op_profile.json");
        return profile ? "" : profile.error().code;
    };
    CHECK(error(R"({"byCategory":{"children":[{"name":"a","metrics":{"rawTime":-1},"xla":{}}]}})") == "bad_number");
    CHECK(error(R"({"byCategory":{"children":[{"name":"a","metrics":{"rawTime":"NaN"},"xla":{}}]}})") == "bad_number");
    CHECK(error(R"({"byCategory":{"children":[{"metrics":{"rawTime":1,"rawBytesAccessedArray":[{}]},"xla":{}}]}})") ==
          "bad_number");
    CHECK(error(R"({"byCategory":{"children":[{"name":"a","metrics":{"time":0.5},"xla":{}}]}})") == "no_time");
    CHECK(error(R"({"byCategory":{},"byProgram":3})") == "no_kernels");
    CHECK(error(R"({"byCategory":{"children":[{"name":"IDLE","metrics":{"rawTime":5},"xla":{}}]}})") == "no_kernels");
    CHECK(error(std::string(by_category.substr(0, 300))) == "cut_off");
}

// Those of xprof's demonstration, of which only the oldest format of op_profile lists operations.
TEST_CASE("xprof: other tools are refused by their names") {
    const std::pair<std::string_view, std::string_view> samples[] = {{"input_pipeline", "input_pipeline"},
                                                                     {"memory_viewer", "memory_viewer"},
                                                                     {"overview_page", "overview_page"},
                                                                     {"pod_viewer", "pod_viewer"},
                                                                     {"op_profile", "neither times nor FLOPs"}};
    for (const auto& [file, words] : samples) {
        const auto text = shared_text("samples/xprof/profile_demo." + std::string(file) + ".json");
        if (!text) return;
        CAPTURE(file);
        CHECK(is_xprof_json(std::string_view(*text).substr(0, 4096)));
        const auto profile = read_kernel_profile(*text, "demo.json");
        REQUIRE_FALSE(profile);
        CHECK(profile.error().message.find(words) != std::string::npos);
        CHECK_FALSE(profile.error().hint.empty());
    }
}
