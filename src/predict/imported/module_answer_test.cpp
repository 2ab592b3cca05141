#include "predict/imported/module_answer.hpp"

#include <doctest/doctest.h>

#include <string>

#include "base/approx_test.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "import/xla/hlo_text.hpp"
#include "machine/catalogue.hpp"

using namespace roofline::core;

namespace {

Result<ModuleAnswer> ask(const std::string& text, const std::string& shape, const ModuleQuestion& question = {}) {
    ROOFLINE_TRY(const auto module, read_hlo_text(text, "m.hlo"));
    ROOFLINE_TRY(auto machine, find_machine("h100-sxm"));
    ROOFLINE_TRY(const auto slice, make_slice(std::move(machine), shape));
    return answer_module(module, "m.hlo", slice, question, std::make_shared<Calibrations>(Calibrations::built_in()));
}

ModuleAnswer answered(const std::string& text, const std::string& shape = "1", const ModuleQuestion& question = {}) {
    auto answer = ask(text, shape, question);
    REQUIRE_MESSAGE(answer, answer.error().message);
    return std::move(*answer);
}

const std::string square = "bf16[1024,1024]";
constexpr double square_bytes = 2.0 * 1024 * 1024;

// Two matmuls with an activation between them, each from a line and a scope of its own.
std::string layers() {
    const auto from = [](const std::string& scope, int line) {
        return ", metadata={op_name=\"jit(f)/" + scope + "\" source_file=\"f.py\" source_line=" + std::to_string(line) +
               "}\n";
    };
    const std::string dims = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}";
    return "HloModule m, is_scheduled=true\ngelu {\n p = " + square + " parameter(0)\n ROOT t = " + square +
           " tanh(p)\n}\nENTRY e {\n x = " + square + " parameter(0)\n w = " + square +
           " parameter(1)\n h = " + square + " dot(x, w)" + dims + from("block/up", 3) + " a = " + square +
           " fusion(h), kind=kLoop, calls=gelu" + from("block/act", 4) + " ROOT y = " + square + " dot(a, w)" + dims +
           from("block/rematted_computation/down", 5) + "}\n";
}

}  // namespace

// Kernels of 20 MB were measured in a cache, where they are faster than the main memory.
TEST_CASE("no kernel of a module is expected to be faster than its bound, and expected times add up") {
    const ModuleAnswer answer = answered(
        "ENTRY e {\n x = bf16[5000000] parameter(0)\n y = bf16[5000000] negate(x)\n"
        " z = bf16[5000000] custom-call(y), custom_call_target=\"own\"\n ROOT n = bf16[5000000] negate(z)\n}\n");
    REQUIRE(answer.ops.size() == 3);
    REQUIRE(answer.expected_s);
    double sum = 0;
    for (const ModuleOp& op : answer.ops) {
        REQUIRE(op.expected_s);
        CHECK(*op.expected_s >= 20e6 / 3.35e12 * (1 - 1e-9));
        sum += *op.expected_s;
    }
    CHECK(*answer.expected_s == approx(sum));
}

TEST_CASE("the kernels of a module add up to the whole, by line and by scope") {
    const ModuleAnswer answer = answered(layers());
    const double matmul = 2.0 * 1024 * 1024 * 1024;
    CHECK(answer.matmul_flops == 2 * matmul);
    CHECK(answer.recomputed_flops == matmul);  // of the second one, whose scope says so
    CHECK(answer.transcendentals == 1024 * 1024);
    CHECK(answer.bytes == (3 + 2 + 3) * square_bytes);
    REQUIRE(answer.ops.size() == 3);
    CHECK(answer.ops[2].name == "a");  // shorter than both matmuls
    CHECK(answer.ops[2].bound_by == "HBM");
    // 4 MiB over 3.35 TB/s, by the data sheet.
    CHECK(*answer.ops[2].lower_s == approx(2 * square_bytes / 3.35e12));

    REQUIRE(answer.by_source.size() == 3);
    double lines = 0;
    for (const ModuleGroup& line : answer.by_source) lines += line.seconds;
    CHECK(lines == approx(answer.by_scope.seconds));
    CHECK(answer.expected);
    CHECK(answer.by_scope.seconds == approx(*answer.prediction->expected_s));
    REQUIRE(answer.by_scope.parts.size() == 1);
    CHECK(answer.by_scope.parts[0].name == "jit(f)");
    REQUIRE(answer.by_scope.parts[0].parts.size() == 1);
    CHECK(answer.by_scope.parts[0].parts[0].name == "block");
    CHECK(answer.by_scope.parts[0].parts[0].parts.size() == 3);
    CHECK(answer.notes.empty());
}

TEST_CASE("memory: arguments all the time, results from the kernel that makes them to the last that reads them") {
    // x and w are arguments; at any kernel two of h, a, y live beside them: the one that is read and the one written.
    const ModuleAnswer answer = answered(layers());
    CHECK(answer.memory.arguments == 2 * square_bytes);
    CHECK(answer.memory.peak == 4 * square_bytes);
    CHECK(answer.memory.largest.size() == 4);

    // The result has the memory of a donated argument, and an update in place that of its target.
    const std::string donated =
        "HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }\nENTRY e {\n x = " + square +
        " parameter(0)\n u = bf16[1,1024] parameter(1)\n z = s32[] constant(0)\n ROOT y = " + square +
        " dynamic-update-slice(x, u, z, z)\n}\n";
    const ModuleAnswer in_place = answered(donated);
    CHECK(in_place.memory.peak == square_bytes + 2 * 1024);
    // The target of an update lives until then: beside x and u there are n and, while it is summed, e.
    const ModuleAnswer update = answered(
        "HloModule m, is_scheduled=true\nadd {\n a = bf16[] parameter(0)\n b = bf16[] parameter(1)\n"
        " ROOT s = bf16[] add(a, b)\n}\nENTRY main {\n x = " +
        square +
        " parameter(0)\n u = bf16[1,1024] parameter(1)\n z = s32[] constant(0)\n o = bf16[] constant(0)\n n = " +
        square + " negate(x)\n e = " + square +
        " exponential(x)\n s = bf16[] reduce(e, o), dimensions={0,1}, to_apply=add\n"
        " y = " +
        square + " dynamic-update-slice(n, u, z, z)\n ROOT t = (" + square + ", bf16[]) tuple(y, s)\n}\n");
    CHECK(update.memory.peak == 3 * square_bytes + 2 * 1024 + 2);
}

TEST_CASE("kernels of no measured kind count with an error of 100 %, at their share of the time") {
    const std::string sort =
        "HloModule m, is_scheduled=true\nless {\n a = bf16[] parameter(0)\n b = bf16[] parameter(1)\n"
        " ROOT l = pred[] compare(a, b), direction=LT\n}\nENTRY e {\n x = bf16[1048576] parameter(0)\n"
        " ROOT s = bf16[1048576] sort(x), dimensions={0}, to_apply=less\n}\n";
    const ModuleAnswer answer = answered(sort);
    REQUIRE(answer.ops.size() == 1);
    CHECK(answer.ops[0].unmeasured);
    CHECK(*answer.expected_error == approx(1));
    REQUIRE(answer.notes.size() == 1);
    CHECK(answer.notes[0].find("100.0 % of the expected time") != std::string::npos);
    CHECK(answered(layers()).expected_error == answered(layers()).prediction->expected_error);
}

// The H100 has no calibration for matmuls in f32 and 1.388 us for an elementwise kernel without work
// (data/calibration/h100-sxm5.toml). 32 x 32 x 32 are 65,536 FLOPs at 66.9 TFLOP/s, and 8.2 kB at 3.35 TB/s take
// longer.
TEST_CASE("a kernel without a calibration takes at least its bound and its launch") {
    const ModuleAnswer answer = answered(
        "HloModule m, is_scheduled=true\nENTRY e {\n x = f32[32,32] parameter(0)\n"
        " d = f32[32,32] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        " ROOT n = f32[32,32] negate(d)\n}\n");
    CHECK_FALSE(answer.expected_s);
    REQUIRE(answer.ops.size() == 2);
    const bool first = answer.ops[0].opcode == "dot";
    const ModuleOp& dot = answer.ops[first ? 0 : 1];
    const ModuleOp& negate = answer.ops[first ? 1 : 0];
    REQUIRE(dot.floor_s);
    CHECK(*dot.floor_s == approx(1.388e-6));
    CHECK(dot.seconds == approx(1.388e-6 + 2 * 4096 / 3.35e12));
    CHECK_FALSE(dot.expected_s);
    REQUIRE(negate.expected_s);
    CHECK_FALSE(negate.floor_s);
    REQUIRE(answer.notes.size() == 1);
    CHECK(answer.notes[0] ==
          "for kernels without a calibration the time is the bound plus 1.39 us per launch, the "
          "launch overhead of elementwise kernels with trtllm 1.3.0rc20 on H100 SXM5 80GB");
    REQUIRE(answer.at_least_s);
    CHECK(*answer.at_least_s == approx(dot.seconds + *negate.expected_s));
}

TEST_CASE("a kernel that states its FLOPs runs at the fastest rate, because it does not say on which units") {
    const ModuleAnswer answer = answered(
        "HloModule m, is_scheduled=true\nENTRY e {\n x = bf16[64] parameter(0)\n ROOT c = bf16[64] custom-call(x), "
        "custom_call_target=\"tpu_custom_call\", backend_config={\"custom_call_config\": {\"cost_estimate\": "
        "{\"flops\": \"989400000000\", \"transcendentals\": \"0\", \"bytes_accessed\": \"256\"}}}\n}\n");
    CHECK(answer.prediction->analysis.total.bounds.lower == approx(0.001).epsilon(0.001));  // 989.4 TFLOP/s
}

TEST_CASE("collectives need a slice with as many chips as the module has devices, and take no time on one chip") {
    const std::string sums =
        "HloModule m, is_scheduled=true, num_partitions=4\nadd {\n a = bf16[] parameter(0)\n b = bf16[] parameter(1)\n"
        " ROOT s = bf16[] add(a, b)\n}\nENTRY e {\n x = " +
        square + " parameter(0)\n ROOT r = " + square + " all-reduce(x), replica_groups={{0,1,2,3}}, to_apply=add\n}\n";
    const ModuleAnswer four = answered(sums, "4");
    CHECK(four.collectives.at("all-reduce").executed == 1);
    CHECK(four.collectives.at("all-reduce").output_bytes == square_bytes);
    CHECK(four.ops.size() == 1);
    CHECK(four.prediction->analysis.total.bounds.lower > 0);
    const ModuleAnswer one = answered(sums, "1");
    CHECK(one.collectives.at("all-reduce").executed == 1);
    CHECK(one.prediction->analysis.total.bounds.lower == 0);
    REQUIRE(one.notes.size() == 1);
    CHECK(one.notes[0].find("--on h100-sxm5:4") != std::string::npos);
    const auto eight = ask(sums, "8");
    REQUIRE_FALSE(eight);
    CHECK(eight.error().code == "bad_mesh");
}

// Attention without a mask has twice the FLOPs of a causal one, and kernels of many queries reach the same part of the
// peak. Layouts of libraries have tokens before heads, and taking one for the other made such attention 34 times
// slower.
TEST_CASE("attention of a library without a mask takes nearly twice as long as a causal one") {
    const auto expected_s = [](const std::string& mask) {
        const auto answer = answered(
            "HloModule m, is_scheduled=true\nENTRY main {\n"
            "q = bf16[2,4096,32,128] parameter(0)\nk = bf16[2,4096,8,128] parameter(1)\n"
            "v = bf16[2,4096,8,128] parameter(2)\n"
            "ROOT o = (bf16[2,4096,32,128], f32[2,32,4096,1]) custom-call(q, k, v), "
            "custom_call_target=\"te_fused_attn_forward_ffi\", backend_config={attn_heads = 32 : i64, input_batch = 2 "
            ": i64, kv_max_seqlen = 4096 : i64, mask_type = " +
            mask +
            " : i64, num_gqa_groups = 8 : i64, q_max_seqlen = 4096 : i64, qk_head_dim = 128 : i64, v_head_dim = 128 "
            ": i64}\n}\n");
        REQUIRE(answer.prediction->expected_s);
        return *answer.prediction->expected_s;
    };
    const double ratio = expected_s("0") / expected_s("2");
    CHECK(ratio > 1.5);  // each also has costs that do not grow with the FLOPs
    CHECK(ratio < 2.1);
}
