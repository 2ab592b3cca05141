#include "import/xla/cost/xla_cost.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/approx_test.hpp"
#include "import/xla/cost/xla_backend_config.hpp"
#include "import/xla/cost/xla_executions.hpp"
#include "import/xla/cost/xla_gpu_cost.hpp"
#include "import/xla/hlo_text.hpp"

using namespace roofline::core;

namespace {

/// A module and what it costs.
struct Counted {
    XlaModule module;
    XlaModuleCost cost;

    [[nodiscard]] const XlaCost& root() const { return cost.instructions[module.entry][module.main().root]; }
    [[nodiscard]] const XlaCost& of(std::string_view name) const {
        const auto& all = module.main().instructions;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].name == name) return cost.instructions[module.entry][i];
        }
        FAIL("there is no such instruction");
        return cost.total;
    }
};

Counted counted(const std::string& text, const XlaCostOptions& options = {}) {
    auto module = read_hlo_text(text, "m.hlo");
    REQUIRE_MESSAGE(module.has_value(), (module ? "" : module.error().message));
    auto cost = xla_cost(*module, options);
    REQUIRE_MESSAGE(cost.has_value(), (cost ? "" : cost.error().message));
    return {std::move(*module), std::move(*cost)};
}

std::string error_of(const std::string& text, const XlaCostOptions& options = {}) {
    const auto module = read_hlo_text(text, "m.hlo");
    REQUIRE_MESSAGE(module.has_value(), (module ? "" : module.error().message));
    const auto cost = xla_cost(*module, options);
    return cost ? "" : cost.error().message;
}

XlaCostOptions gpu() {
    XlaCostOptions options;
    options.analysis = XlaAnalysis::gpu;
    options.count_multiple_input_accesses = true;
    return options;
}

const std::string add = "add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b)\n}\n";

std::string loop_of(std::string_view trips) {
    return add + fmt::format(R"(
body {{
  p = f32[8,8] parameter(0)
  ROOT d = f32[8,8] dot(p, p), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}
condition {{
  p = f32[8,8] parameter(0)
  ROOT c = pred[] custom-call(), custom_call_target="more"
}}
inner {{
  p = f32[8,8] parameter(0)
  w = f32[8,8] while(p), condition=condition, body=body, backend_config={{"known_trip_count":{{"n":"{0}"}}}}
  ROOT r = f32[8,8] all-reduce(w), replica_groups={{}}, to_apply=add
}}
ENTRY e {{
  x = f32[8,8] parameter(0)
  ROOT outer = f32[8,8] while(x), condition=condition, body=inner
}})",
                             trips);
}

}  // namespace

TEST_CASE("cost: what single operations compute and touch") {
    const Counted all = counted(add + R"(
ENTRY e {
  x = bf16[6,4] parameter(0)
  y = bf16[4,10] parameter(1)
  i = s32[] parameter(2)
  h = c64[8,6] parameter(3)
  z = f32[] constant(0)
  d = f32[6,10] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[10,6] transpose(d), dimensions={1,0}
  same = f32[10,6]{0,1} transpose(d), dimensions={1,0}
  th = f32[6,10] tanh(d)
  c = s8[6,10] convert(th)
  q = s4[6,10] convert(c)
  r = f32[6] reduce(th, z), dimensions={1}, to_apply=add
  s = f32[2,10] dynamic-slice(th, i, i), dynamic_slice_sizes={2,10}
  u = f32[6,10] dynamic-update-slice(th, s, i, i)
  o = f32[6,10] sort(u), dimensions={0}, to_apply=add
  l = c64[8,6] fft(h), fft_type=FFT, fft_length={6}
  a = f32[6,6] concatenate(t, t), dimensions={1}
  k = f32[6,6] cholesky(a)
  two = (f32[6], f32[6,10]) tuple(r, u)
  b = (f32[6], f32[6,10]) opt-barrier(two)
  ROOT n = (f32[6], f32[6,10]) tuple(r, u)
})");
    // 2 * 60 * 4; 48 + 80 + 240 bytes
    CHECK(all.of("d").flops == 480);
    CHECK(all.of("d").bytes == 368);
    CHECK(all.of("t").bytes == 480);
    CHECK(all.of("same").bytes == 0);
    CHECK(all.of("th").flops == 0);
    CHECK(all.of("th").transcendentals == 60);
    CHECK(all.of("c").flops == 60);
    CHECK(all.of("c").bytes == 300);
    CHECK(all.of("q").bytes == 90);
    CHECK(all.of("r").flops == 54);
    CHECK(all.of("s").bytes == 164);
    CHECK(all.of("s").operands[0].bytes == 80);
    CHECK(all.of("u").bytes == 164);
    CHECK(all.of("u").operands[0].bytes == 0);
    CHECK(all.of("u").output_bytes == 80);
    CHECK(all.of("o").flops == 360);  // 60 * 6
    CHECK(all.of("l").flops == 768);  // 2 * 4 per element and level, 2 whole levels, 48 elements
    CHECK(all.of("k").flops == 72);   // 6 * 36 / 3
    CHECK(all.of("k").bytes == 144);
    CHECK(all.of("n").bytes == 16);
    // Two pointers are read, and 24 + 240 bytes written: as XLA counts (jaxlib 0.10.2).
    CHECK(all.of("b").bytes == 280);
    CHECK(all.of("z").bytes == 0);
}

TEST_CASE("cost: a fusion reads what its users take, and writes its results") {
    const Counted all = counted(R"(
f {
  p = f32[100,4] parameter(0)
  b = f32[4] parameter(1)
  buffer = f32[100,4] parameter(2)
  i = s32[] parameter(3)
  table = f32[4] constant({1, 2, 3, 4})
  s1 = f32[1,4] slice(p), slice={[0:1], [0:4]}
  s2 = f32[1,4] dynamic-slice(p, i, i), dynamic_slice_sizes={1,4}
  m = f32[1,4] add(s1, s2)
  w = f32[1,4] broadcast(b), dimensions={1}
  v = f32[1,4] reshape(table)
  n = f32[1,4] multiply(m, w)
  l = f32[1,4] multiply(n, v)
  u = f32[100,4] dynamic-update-slice(buffer, l, i, i)
  ROOT t = (f32[1,4], f32[100,4]) tuple(n, u)
}
ENTRY e {
  p = f32[100,4] parameter(0)
  b = f32[4] parameter(1)
  buffer = f32[100,4] parameter(2)
  i = s32[] parameter(3)
  ROOT r = (f32[1,4], f32[100,4]) fusion(p, b, buffer, i), kind=kLoop, calls=f
})");
    // three elementwise operations of four elements
    CHECK(all.root().flops == 12);
    CHECK(all.root().operands[0].bytes == 32);
    CHECK(all.root().operands[1].bytes == 16);
    CHECK(all.root().operands[2].bytes == 0);
    CHECK(all.root().operands[3].bytes == 4);
    // 16 of the first result and 16 of the second, which is updated in place
    CHECK(all.root().output_bytes == 32);
    // and 16 of the constant
    CHECK(all.root().bytes == 32 + 52 + 16);
}

TEST_CASE("cost: on a GPU a fusion computes again what it needs again") {
    const std::string text = R"(
f {
  p = f32[8] parameter(0)
  twice = f32[8] add(p, p)
  b = f32[16,8] broadcast(twice), dimensions={1}
  q = f32[16,8] parameter(1)
  ROOT r = f32[16,8] multiply(b, q)
}
ENTRY e {
  p = f32[8] parameter(0)
  q = f32[16,8] parameter(1)
  ROOT r = f32[16,8] fusion(p, q), kind=kLoop, calls=f
})";
    const Counted again = counted(text, gpu());
    // 128 products and 16 * 8 sums of 3 operations each; p is read 16 times
    CHECK(again.root().flops == 768);
    CHECK(again.root().operands[0].bytes == 512);
    CHECK(again.root().operands[1].bytes == 512);
    CHECK(again.root().bytes == 1536);
    XlaCostOptions once = gpu();
    once.count_multiple_input_accesses = false;
    CHECK(counted(text, once).root().operands[0].bytes == 32);
    CHECK(counted(text).root().flops == 136);
}

TEST_CASE("cost: collectives in rings") {
    const Counted all = counted("HloModule m, num_partitions=4, replica_count=2\n" + add + R"(
ENTRY e {
  x = f32[16] parameter(0)
  ag = f32[64] all-gather(x), dimensions={0}, replica_groups=[2,4]<=[8], channel_id=1, use_global_device_ids=true
  rs = f32[8] reduce-scatter(x), dimensions={0}, replica_groups={{0,1},{2,3}}, to_apply=add
  pairs = f32[16] all-reduce(x), replica_groups={{0},{1}}, channel_id=2, to_apply=add
  ROOT everyone = f32[16] all-reduce(x), replica_groups={}, to_apply=add
})",
                                gpu());
    // 256 bytes in 4 parts: 4 written and 3 handed on, 4 read
    CHECK(all.of("ag").ranks == 4);
    CHECK(all.of("ag").bytes_transferred == 256);
    CHECK(all.of("ag").bytes == 64 * 11);
    CHECK(all.of("rs").ranks == 2);
    CHECK(all.of("rs").bytes == 32 * 5);
    CHECK(all.of("rs").flops == 24);
    CHECK(all.of("pairs").ranks == 4);
    CHECK(all.of("everyone").ranks == 2);
    CHECK(all.of("everyone").flops == 48);
}

TEST_CASE("cost: custom calls are unknown, or say what they cost") {
    const auto call = [](std::string_view target, std::string_view config) {
        return fmt::format(R"(ENTRY e {{
  x = bf16[8,16] parameter(0)
  y = bf16[16,4] parameter(1)
  ROOT c = (bf16[8,4], s8[999]) custom-call(x, y), custom_call_target="{}", backend_config={}
}})",
                           target, config);
    };
    const std::string product =
        R"({"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],)"
        R"("rhs_contracting_dimensions":["0"]}}})";
    CHECK(counted(call("mine", "{}")).root().flops == -1);
    CHECK(!counted(call("mine", "{}")).cost.total.known);
    XlaCostOptions left_out;
    left_out.unknown = 0;
    CHECK(counted(call("mine", "{}"), left_out).cost.total.bytes == 0);
    CHECK(counted(call("__cublas$lt$matmul", product)).root().flops == -1);
    XlaCostOptions priced;
    priced.price_custom_calls = true;
    const Counted matmul = counted(call("__cublas$lt$matmul", product), priced);
    CHECK(matmul.root().flops == 1024);
    CHECK(matmul.root().bytes == 256 + 128 + 64);
    CHECK(matmul.root().output_bytes == 64);
    CHECK(xla_executions(matmul.module, matmul.cost, true).product_flops == 1024);
    // a kernel of Pallas, with its text before the estimate
    const std::string stated = R"({"custom_call_config":{"body":"bytes","cost_estimate":)"
                               R"({"flops":"70","transcendentals":2,"bytes_accessed":9}}})";
    CHECK(counted(call("tpu_custom_call", stated), priced).root().flops == 70);
    CHECK(counted(call("tpu_custom_call", stated), priced).root().transcendentals == 2);
    CHECK(counted(call("tpu_custom_call", stated), gpu()).root().bytes == 9);
    CHECK(error_of(call("__cublas$gemm", "{}"), gpu()).find("`c`") != std::string::npos);
}

TEST_CASE("cost: escapes of a configuration are undone, however deep") {
    for (const char* const quote : {R"(\")", R"(\\\")", R"(\\22)", R"(\\x22)", R"(\\u0022)", R"(\\U00000022)"}) {
        INFO(quote);
        const auto module = read_hlo_text(
            fmt::format(
                R"(e {{ ROOT c = f32[] custom-call(), custom_call_target="t", )"
                R"(backend_config="{{cost_estimate_json = \"{{{0}flops{0}: 12, {0}bytes_accessed{0}: 34}}\"}}" }})",
                quote),
            "m.hlo");
        REQUIRE(module);
        const std::string config = plain_config(module->main().result());
        CHECK(config_number(config, "flops") == 12.0);
        CHECK(config_number(config, "bytes_accessed") == 34.0);
    }
}

TEST_CASE("cost: loops count once as in XLA, or as often as they run") {
    XlaCostOptions options;
    options.unknown = 0;
    // 2 * 64 * 8 of the product, 64 of the sum
    CHECK(counted(loop_of("5"), options).cost.total.flops == 1088);
    options.multiply_loops = true;
    CHECK(counted(loop_of("5"), options).cost.total.flops == 5184);
    options.trip_counts["outer"] = 3;
    const Counted given = counted(loop_of("5"), options);
    CHECK(given.cost.total.flops == 3 * 5184);
    const XlaExecutions executions = xla_executions(given.module, given.cost, true);
    CHECK(executions.product_flops == 15360);
    CHECK(executions.collectives.at("all-reduce").executed == 3);
    CHECK(executions.collectives.at("all-reduce").output_bytes == 768);
    CHECK(executions.custom_calls.at("more") == 18);  // both conditions
    CHECK(xla_executions(given.module, given.cost, false).custom_calls.at("more") == 2);
    options.trip_counts["inner"] = 0;  // no loop
    options.trip_counts["w"] = 7;      // which says 5 of itself
    const Counted instead = counted(loop_of("5"), options);
    CHECK(xla_executions(instead.module, instead.cost, true).product_flops == 3 * 7 * 1024);
    options.trip_counts["outer"] = -1;
    CHECK(error_of(loop_of("5"), options).find("`outer`") != std::string::npos);
}

TEST_CASE("cost: a conditional costs its dearest branch, and runs each in equal parts") {
    const Counted all = counted(R"(
small {
  p = f32[8] parameter(0)
  ROOT c = f32[8] custom-call(p), custom_call_target="f"
}
large {
  p = f32[8] parameter(0)
  q = f32[8] add(p, p)
  ROOT c = f32[8] multiply(q, q)
}
ENTRY e {
  i = s32[] parameter(0)
  x = f32[8] parameter(1)
  ROOT c = f32[8] conditional(i, x, x, x), branch_computations={small, large, large}
})");
    CHECK(all.root().flops == 16);
    CHECK(xla_executions(all.module, all.cost, true).custom_calls.at("f") == approx(1.0 / 3));
}

TEST_CASE("cost: the longest resource sets the time") {
    XlaCostOptions options;
    options.flops = {4, 0};
    options.bytes = {1000, 0.5};
    const std::string text = "e {\n x = f32[8] parameter(0)\n ROOT y = f32[8] add(x, x)\n}";
    CHECK(counted(text, options).cost.total.seconds == 2);
    options.flops.per_second = 1000;
    CHECK(counted(text, options).cost.total.seconds == 0.5);
}

TEST_CASE("cost: what XProf takes off for narrow types") {
    const Counted all = counted(R"(e {
  a = f8e4m3fn[8,16] parameter(0)
  b = s4[8,16] parameter(1)
  p = pred[8,16] parameter(2)
  x = f8e4m3fn[8,16] add(a, a)
  y = s4[8,16] add(b, b)
  ROOT z = pred[8,16] not(p)
})",
                                gpu());
    const auto taken = [&](std::size_t index) {
        return device_flops_adjustment(all.module.main(), all.module.main().instructions[index],
                                       all.cost.instructions[all.module.entry][index]);
    };
    CHECK(taken(3) == 192);
    CHECK(taken(4) == 288);
    CHECK(taken(5) == 0);
}

TEST_CASE("cost: instructions that do not fit are named") {
    const auto one = [](const std::string& line) {
        return error_of(add + "ENTRY e {\n x = f32[4,4] parameter(0)\n ROOT bad = " + line + "\n}", gpu());
    };
    for (const char* const line : {"f32[4,4] dot(x)",
                                   "f32[4,4] dot(x, x), lhs_contracting_dims={2}",
                                   "f32[4,4] dot(x, x), lhs_contracting_dims={-1}",
                                   "f32[4,4] dot(x, x), lhs_contracting_dims=one",
                                   "f32[4] reduce(x), to_apply=add",
                                   "f32[4] reduce(x, x)",
                                   "f32[4] fusion(x), kind=kLoop",
                                   "f32[4] fusion(x), kind=kLoop, calls=add",
                                   "f32[4] while(x)",
                                   "f32[4] conditional(x)",
                                   "f32[4] call(x)",
                                   "f32[4] async-start(x)",
                                   "f32[1] dynamic-slice(x)",
                                   "f32[4,4] dynamic-update-slice(x, x)",
                                   "f32[4] gather(x)",
                                   "f32[4] scatter(x, x)",
                                   "f32[4] scatter(x, x, x, x), to_apply=add",
                                   "f32[4] select-and-scatter(x, x, x)",
                                   "f32[4] fft(x), fft_length={0}",
                                   "f32[4] concatenate(x, x)",
                                   "f32[4] concatenate(x, x), dimensions={2}",
                                   "f32[4] transpose(x), dimensions={3}",
                                   "f32[4] sort()",
                                   "f32[4] broadcast()",
                                   "f32[4] ragged-dot(x, x, x), rhs_group_dims={0,1,5}",
                                   "f32[4] slice()",
                                   "f32[4] convolution(x, x)",
                                   "f32[4] all-gather(x), replica_groups=@mesh",
                                   "f32[4] all-reduce(x)",
                                   "f32[4] collective-permute()",
                                   "f32[4] cholesky()",
                                   "f32[4] triangular-solve(x)",
                                   "f32[4] map(x)",
                                   "f32[4] reduce-window(x, x), window={size=0x1}, to_apply=add"}) {
        INFO(line);
        CHECK(one(line).find("`bad`") != std::string::npos);
    }
    CHECK(error_of("HloModule m, num_partitions=none\nENTRY e {\n x = f32[4] parameter(0)\n"
                   " ROOT bad = f32[4] all-gather(x)\n}",
                   gpu())
              .find("num_partitions") != std::string::npos);
}

TEST_CASE("cost: modules that only look large") {
    // a chain of fusions, each of which calls the next twice: 2^200 times four additions
    const auto chain = [](int length) {
        std::string text = "c0 {\n p = f32[4] parameter(0)\n ROOT r = f32[4] add(p, p)\n}\n";
        for (int i = 1; i <= length; ++i) {
            text += fmt::format(
                "c{0} {{\n p = f32[4] parameter(0)\n a = f32[4] fusion(p), kind=kLoop, calls=c{1}\n"
                " ROOT b = f32[4] fusion(a), kind=kLoop, calls=c{1}\n}}\n",
                i, i - 1);
        }
        return text;
    };
    CHECK(counted(chain(200)).cost.total.flops == std::ldexp(4.0, 200));
    // 2^1024 is beyond a double: each fusion of the last computation costs 2^1023
    CHECK(counted(chain(1021)).cost.total.flops == std::ldexp(1.0, 1023));
    CHECK(error_of(chain(1022)).find("`b`") != std::string::npos);
    // loops within loops, 10^18 times each
    std::string loops =
        "b0 {\n p = f32[4] parameter(0)\n ROOT r = f32[4] add(p, p)\n}\n"
        "c {\n p = f32[4] parameter(0)\n ROOT r = pred[] constant(true)\n}\n";
    for (int i = 1; i <= 20; ++i) {
        loops += fmt::format(
            "b{0} {{\n p = f32[4] parameter(0)\n ROOT w{0} = f32[4] while(p), condition=c, body=b{1}, "
            "backend_config={{\"known_trip_count\":{{\"n\":\"1000000000000000000\"}}}}\n}}\n",
            i, i - 1);
    }
    XlaCostOptions options;
    options.multiply_loops = true;
    CHECK(error_of(loops, options).find("`w18`") != std::string::npos);
    CHECK(counted(loops).cost.total.flops == 4);
}
