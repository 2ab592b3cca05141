#include "predict/imported/module_overlap.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "import/xla/lower/lowered_test.hpp"

using namespace roofline::core;

namespace {

// The hidden seconds of the kernels of a computation, given the seconds of all executions of each.
std::vector<double> hidden(const std::string& body, const std::vector<double>& seconds) {
    const Lowered module = lowered(
        "HloModule m, is_scheduled=true, num_partitions=4\nadd {\n p = f32[] parameter(0)\n q = f32[] "
        "parameter(1)\n ROOT s = f32[] add(p, q)\n}\nless {\n c = (s32[], f32[64]) parameter(0)\n"
        " i = s32[] get-tuple-element(c), index=0\n n = s32[] constant(10)\n"
        " ROOT l = pred[] compare(i, n), direction=LT\n}\nbody {\n c = (s32[], f32[64]) parameter(0)\n"
        " i = s32[] get-tuple-element(c), index=0\n o = s32[] constant(1)\n j = s32[] add(i, o)\n"
        " x = f32[64] get-tuple-element(c), index=1\n"
        " a = f32[64] all-reduce-start(x), replica_groups={{0,1,2,3}}, to_apply=add\n b = f32[64] negate(x)\n"
        " d = f32[64] all-reduce-done(a)\n e = f32[64] add(b, d)\n ROOT t = (s32[], f32[64]) tuple(j, e)\n}\n"
        "ENTRY e {\n x = f32[64] parameter(0)\n y = f32[64] parameter(1)\n" +
        body + "}\n");
    REQUIRE(module.work.kernels.size() == seconds.size());
    return hidden_seconds(module.imported.program, module.imported.started, module.work, seconds);
}

const std::string groups = ", replica_groups={{0,1,2,3}}, to_apply=add\n";
using Hidden = std::vector<double>;

}  // namespace

TEST_CASE("overlap: kernels between start and done hide a collective as long as they take") {
    const std::string one = "s = f32[64] all-reduce-start(x)" + groups +
                            "a = f32[64] negate(y)\nd = f32[64] all-reduce-done(s)\nROOT b = f32[64] add(a, d)\n";
    CHECK(hidden(one, {15, 10, 5}) == Hidden{10, 0, 0});
    CHECK(hidden(one, {6, 10, 5}) == Hidden{6, 0, 0});
    // Not asynchronous: nothing is hidden.
    CHECK(hidden("s = f32[64] all-reduce(x)" + groups + "a = f32[64] negate(y)\nROOT b = f32[64] add(a, s)\n",
                 {15, 10, 5}) == Hidden{0, 0, 0});
    // Nothing runs between start and done.
    CHECK(hidden("s = f32[64] all-reduce-start(x)" + groups +
                     "d = f32[64] all-reduce-done(s)\na = f32[64] negate(y)\nROOT b = f32[64] add(a, d)\n",
                 {15, 10, 5}) == Hidden{0, 0, 0});
}

TEST_CASE("overlap: collectives share the links, one after another") {
    // The first is on the links until 6, the second from 6 to 12; the kernel runs until 8, and 4 s are waited.
    const std::string two = "s = f32[64] all-reduce-start(x)" + groups + "t = f32[64] all-reduce-start(y)" + groups +
                            "a = f32[64] negate(y)\nd = f32[64] all-reduce-done(s)\n"
                            "e = f32[64] all-reduce-done(t)\nb = f32[64] add(a, d)\nROOT c = f32[64] add(b, e)\n";
    CHECK(hidden(two, {6, 6, 8, 1, 1}) == Hidden{6, 2, 0, 0, 0});
    // One that is not asynchronous waits for the links: all of the first is exposed.
    const std::string mixed = "s = f32[64] all-reduce-start(x)" + groups + "t = f32[64] all-reduce(y)" + groups +
                              "a = f32[64] negate(y)\nd = f32[64] all-reduce-done(s)\nb = f32[64] add(a, d)\n"
                              "ROOT c = f32[64] add(b, t)\n";
    CHECK(hidden(mixed, {6, 3, 10, 1, 1}) == Hidden{0, 0, 0, 0, 0});
}

TEST_CASE("overlap: each iteration of a loop hides its own part") {
    // Ten times: 3 s of communication beside 2 s of a kernel; then the sum.
    const std::string loop =
        "z = s32[] constant(0)\ni = (s32[], f32[64]) tuple(z, x)\n"
        "w = (s32[], f32[64]) while(i), condition=less, body=body\n"
        "ROOT r = f32[64] get-tuple-element(w), index=1\n";
    CHECK(hidden(loop, {30, 20, 10}) == Hidden{20, 0, 0});
    // A collective that was started before the loop is finished before those of the loop: none of it is hidden.
    const std::string around = "s = f32[64] all-reduce-start(y)" + groups + "z = s32[] constant(0)\n" +
                               "i = (s32[], f32[64]) tuple(z, x)\n"
                               "w = (s32[], f32[64]) while(i), condition=less, body=body\n"
                               "r = f32[64] get-tuple-element(w), index=1\nd = f32[64] all-reduce-done(s)\n"
                               "ROOT b = f32[64] add(r, d)\n";
    CHECK(hidden(around, {5, 30, 20, 10, 1}) == Hidden{0, 20, 0, 0, 0});
}

TEST_CASE("overlap: copies from the host run beside kernels and collectives") {
    const std::string copy = "s = (f32[64]{0:S(5)}, f32[64], u32[]) copy-start(x)\nt = f32[64] all-reduce-start(y)" +
                             groups +
                             "a = f32[64] negate(y)\nd = f32[64]{0:S(5)} copy-done(s)\ne = f32[64] all-reduce-done(t)\n"
                             "b = f32[64] add(a, e)\nROOT c = (f32[64], f32[64]{0:S(5)}) tuple(b, d)\n";
    CHECK(hidden(copy, {7, 6, 10, 1}) == Hidden{7, 6, 0, 0});
    CHECK(hidden(copy, {12, 6, 10, 1}) == Hidden{10, 6, 0, 0});
}
