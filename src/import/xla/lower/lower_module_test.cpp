#include "import/xla/lower/lower_module.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "import/xla/lower/lowered_test.hpp"

using namespace roofline::core;

TEST_CASE("a dot is a matmul: two FLOPs per point, each array once") {
    const Lowered dot =
        lowered(entry("a = f32[8,16] parameter(0)\nb = f32[16,32] parameter(1)\n"
                      "ROOT c = f32[8,32] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"));
    CHECK(dot.matmul_flops() == 2 * 8 * 16 * 32);
    CHECK(dot.read() == 4 * (8 * 16 + 16 * 32));
    CHECK(dot.written() == 4 * 8 * 32);
    REQUIRE(dot.work.kernels.size() == 1);
    CHECK(dot.work.kernels[0].matmuls[0].m.size() == 1);
}

TEST_CASE("batches are in both operands, and equal sizes are different dimensions") {
    const Lowered dot = lowered(
        entry("a = bf16[4,64,64] parameter(0)\nb = bf16[4,64,64] parameter(1)\n"
              "ROOT c = bf16[4,64,64] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
              "rhs_contracting_dims={1}\n"));
    CHECK(dot.matmul_flops() == 2.0 * 4 * 64 * 64 * 64);
    CHECK(dot.read() == 2 * 2 * 4 * 64 * 64);
}

TEST_CASE("a loop multiplies its body, with the count that the module tells or the user") {
    const std::string module =
        "HloModule m\n"
        "body {\n p = (s32[], f32[8,8]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
        " x = f32[8,8] get-tuple-element(p), index=1\n one = s32[] constant(1)\n j = s32[] add(i, one)\n"
        " y = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        " ROOT t = (s32[], f32[8,8]) tuple(j, y)\n}\n"
        "cond {\n p = (s32[], f32[8,8]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
        " n = s32[] LIMIT\n ROOT c = pred[] compare(i, n), direction=LT\n}\n"
        "ENTRY e {\n x = f32[8,8] parameter(0)\n zero = s32[] constant(0)\n t = (s32[], f32[8,8]) tuple(zero, x)\n"
        " w = (s32[], f32[8,8]) while(t), condition=cond, body=body\n"
        " ROOT r = f32[8,8] get-tuple-element(w), index=1\n}\n";
    const auto with = [&](const std::string& limit) {
        std::string text = module;
        return text.replace(text.find("LIMIT"), 5, limit);
    };
    const Lowered five = lowered(with("constant(5)"));
    CHECK(five.matmul_flops() == 5 * 2 * 8 * 8 * 8);
    CHECK(five.read() == 5 * 4 * 64);  // what an iteration leaves is read by the next
    REQUIRE(five.imported.loops.size() == 1);
    CHECK(five.imported.loops[0].known == ImportedLoop::Known::found);
    CHECK(five.imported.gaps.empty());

    const Lowered unknown = lowered(with("get-tuple-element(p), index=0"));
    CHECK(unknown.matmul_flops() == 2 * 8 * 8 * 8);
    REQUIRE(unknown.imported.gaps.size() == 1);
    CHECK(unknown.imported.gaps[0].what.find("while w") != std::string::npos);

    ImportOptions options;
    options.loops["w"] = 7;
    CHECK(lowered(with("get-tuple-element(p), index=0"), options).matmul_flops() == 7 * 2 * 8 * 8 * 8);
    options.loops["v"] = 7;
    const auto wrong = import_hlo(with("constant(5)"), options);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().code == "unknown_loop");
}

TEST_CASE("a fusion reads its operands and writes its result; what is inside stays inside") {
    const Lowered fused = lowered(
        "HloModule m\nf {\n p = f32[1000] parameter(0)\n q = f32[1000] parameter(1)\n s = f32[1000] add(p, q)\n"
        " ROOT e = f32[1000] exponential(s)\n}\n" +
        entry("a = f32[1000] parameter(0)\nb = f32[1000] parameter(1)\n"
              "ROOT x = f32[1000] fusion(a, b), kind=kLoop, calls=f\n")
            .substr(12));
    CHECK(fused.work.kernels.size() == 1);
    CHECK(fused.vector_flops() == 1000);
    CHECK(fused.value(fused.work.total.transcendentals) == 1000);
    CHECK(fused.read() == 8000);
    CHECK(fused.written() == 4000);
}

TEST_CASE("what a fusion returns is written, and so is what a compiled module broadcasts outside of one") {
    const Lowered zeros =
        lowered("HloModule m\nf {\n c = f32[] constant(0)\n ROOT b = f32[1000] broadcast(c), dimensions={}\n}\n" +
                entry("p = f32[10] parameter(0)\nz = f32[1000] fusion(), kind=kLoop, calls=f\n"
                      "w = f32[10,100] broadcast(p), dimensions={0}\nROOT t = (f32[1000], f32[10,100]) tuple(z, w)\n")
                    .substr(12));
    CHECK(zeros.work.kernels.size() == 2);
    CHECK(zeros.read() == 40);
    CHECK(zeros.written() == 8000);
}

TEST_CASE("what a module returns is written whole, also before it is compiled") {
    const Lowered zeros = lowered(entry("c = f32[] constant(0)\nROOT b = f32[1000] broadcast(c), dimensions={}\n"));
    CHECK(zeros.written() == 4000);
    // the gradient of a table of 1000 rows, of which 10 are not zero
    const Lowered gradient = lowered(
        "HloModule m\nadd {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}\n" +
        entry("c = f32[] constant(0)\nb = f32[1000,64] broadcast(c), dimensions={}\ni = s32[10,1] parameter(0)\n"
              "u = f32[10,64] parameter(1)\nROOT s = f32[1000,64] scatter(b, i, u), to_apply=add, "
              "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
              "index_vector_dim=1\n")
            .substr(12));
    CHECK(gradient.written() == 4 * 64 * 1000);
    CHECK(gradient.read() == 4 * 10 + 4 * 640);
    CHECK(gradient.work.kernels.size() == 1);
    // what uses it is another kernel, which reads it
    const Lowered used = lowered(
        entry("c = f32[] constant(0)\nb = f32[1000,64] broadcast(c), dimensions={}\nu = f32[1,64] parameter(0)\n"
              "i = s32[] parameter(1)\nz = s32[] constant(0)\nd = f32[1000,64] dynamic-update-slice(b, u, i, z)\n"
              "ROOT n = f32[1000,64] negate(d)\n"));
    CHECK(used.work.kernels.size() == 2);
    CHECK(used.written() == 2 * 4 * 64 * 1000);
    CHECK(used.read() == 4 * 64 + 4 * 64 * 1000);
}

// XLA reduces each window anew: 15 16 8 additions.
TEST_CASE("a cumulative sum is one addition for each number") {
    const auto of = [](std::string_view window) {
        return lowered(
                   "HloModule m\nadd {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                   " ROOT r = f32[] add(a, b)\n}\n" +
                   entry("x = f32[8,16] parameter(0)\nz = f32[] constant(0)\n"
                         "ROOT y = f32[8,16] reduce-window(x, z), window={" +
                         std::string(window) + "}, to_apply=add\n")
                       .substr(12))
            .vector_flops();
    };
    CHECK(of("size=1x16 pad=0_0x15_0") == 8 * 16);
    CHECK(of("size=1x16 pad=0_0x0_15") == 8 * 16);
    CHECK(of("size=1x3 pad=0_0x1_1") == 2 * 8 * 16);
}

TEST_CASE("computations that call each other too deeply are refused") {
    std::string text = "HloModule m\nc0 {\n p = f32[2] parameter(0)\n ROOT n = f32[2] negate(p)\n}\n";
    for (int i = 1; i < 500; ++i) {
        text += "c" + std::to_string(i) + " {\n p = f32[2] parameter(0)\n ROOT n = f32[2] call(p), to_apply=c" +
                std::to_string(i - 1) + "\n}\n";
    }
    text += entry("p = f32[2] parameter(0)\nROOT n = f32[2] call(p), to_apply=c499\n").substr(12);
    const auto deep = import_hlo(text);
    REQUIRE_FALSE(deep);
    CHECK(deep.error().message.find("200 levels") != std::string::npos);
}

TEST_CASE("before compilers have fused anything, elementwise operations join a matmul, but two matmuls stay apart") {
    const std::string module = entry(
        "x = bf16[64,128] parameter(0)\nw = bf16[128,256] parameter(1)\nv = bf16[256,32] parameter(2)\n"
        "bias = bf16[256] parameter(3)\nb = bf16[64,256] broadcast(bias), dimensions={1}\n"
        "h = bf16[64,256] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "s = bf16[64,256] add(h, b)\nt = bf16[64,256] tanh(s)\n"
        "ROOT y = bf16[64,32] dot(t, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n");
    const Lowered grouped = lowered(module);
    REQUIRE(grouped.work.kernels.size() == 2);
    // The activations between the two are written once and read once; the bias is read as it is.
    CHECK(grouped.read() == 2 * (64 * 128 + 128 * 256 + 256 * 32 + 256 + 64 * 256));
    CHECK(grouped.written() == 2 * (64 * 256 + 64 * 32));
    ImportOptions apart;
    apart.fuse = false;
    CHECK(lowered(module, apart).work.kernels.size() == 4);
}

// The logits of 64 rows and a vocabulary of `columns`, and the sum of each row's exponentials.
std::string logits_and_sum(const std::string& columns, const std::string& between, const std::string& last) {
    return "HloModule m\nadd {\na = f32[] parameter(0)\nb = f32[] parameter(1)\nROOT s = f32[] add(a, b)\n}\n" +
           entry("x = bf16[64,128] parameter(0)\nw = bf16[128," + columns +
                 "] parameter(1)\nzero = f32[] constant(0)\n" + "h = f32[64," + columns +
                 "] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n" + between + "e = f32[64," +
                 columns + "] exponential(" + last +
                 ")\nROOT y = f32[64] reduce(e, zero), dimensions={1}, to_apply=add\n")
               .substr(12);
}

TEST_CASE("before compilation a matmul stays apart from a reduction of rows that no tile holds") {
    const Lowered wide = lowered(logits_and_sum("1024", "", "h"));
    REQUIRE(wide.work.kernels.size() == 2);
    // The logits are written by the matmul and read by the reduction.
    CHECK(wide.read() == 2 * (64 * 128 + 128 * 1024) + 4 * 64 * 1024);
    CHECK(wide.written() == 4 * (64 * 1024 + 64));
    // A tile holds the logits of 64 classes.
    const Lowered narrow = lowered(logits_and_sum("64", "", "h"));
    REQUIRE(narrow.work.kernels.size() == 1);
    CHECK(narrow.read() == 2 * (64 * 128 + 128 * 64));
    CHECK(narrow.written() == 4 * 64);
    // Logits that are rounded are stored as bf16, because a conversion belongs to the matmul before it.
    const Lowered rounded =
        lowered(logits_and_sum("1024", "c = bf16[64,1024] convert(h)\nd = f32[64,1024] convert(c)\n", "d"));
    REQUIRE(rounded.work.kernels.size() == 2);
    CHECK(rounded.read() == 2 * (64 * 128 + 128 * 1024) + 2 * 64 * 1024);
    CHECK(rounded.written() == 2 * 64 * 1024 + 4 * 64);
    // The rows may go through other dimensions: 64 x 1024 as 64 x 4 x 256, of which all but 64 are summed.
    const Lowered apart =
        lowered("HloModule m\nadd {\na = f32[] parameter(0)\nb = f32[] parameter(1)\nROOT s = f32[] add(a, b)\n}\n" +
                entry("x = bf16[64,128] parameter(0)\nw = bf16[128,1024] parameter(1)\nzero = f32[] constant(0)\n"
                      "h = bf16[64,1024] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                      "v = bf16[64,4,256] reshape(h)\nt = bf16[256,4,64] transpose(v), dimensions={2,1,0}\n"
                      "c = f32[256,4,64] convert(t)\n"
                      "ROOT y = f32[64] reduce(c, zero), dimensions={0,1}, to_apply=add\n")
                    .substr(12));
    CHECK(apart.work.kernels.size() == 2);
}

TEST_CASE("a part of an array that nothing reads costs nothing, unless it is the result") {
    const std::string parts =
        "x = f32[1000,64] parameter(0)\ns = f32[10,64] slice(x), slice={[0:10], [0:64]}\n"
        "t = f32[64,10] transpose(s), dimensions={1,0}\n";
    const Lowered unused = lowered(entry(parts + "ROOT n = f32[1000,64] negate(x)\n"));
    CHECK(unused.work.kernels.size() == 1);
    CHECK(unused.read() == 4 * 64000);
    CHECK(lowered(entry(parts + "ROOT r = f32[640] reshape(t)\n")).read() == 4 * 640);
}

TEST_CASE("slices and updates in place cost what they touch; other names cost nothing") {
    const Lowered slice =
        lowered(entry("x = f32[1000,64] parameter(0)\nROOT y = f32[10,64] slice(x), slice={[0:10], [0:64]}\n"));
    CHECK(slice.read() == 4 * 640);
    CHECK(slice.written() == 4 * 640);
    const Lowered update =
        lowered(entry("x = f32[1000,64] parameter(0)\nu = f32[1,64] parameter(1)\ni = s32[] parameter(2)\n"
                      "z = s32[] constant(0)\nROOT y = f32[1000,64] dynamic-update-slice(x, u, i, z)\n"));
    CHECK(update.read() == 4 * 64);
    CHECK(update.written() == 4 * 64);
    const Lowered names =
        lowered(entry("x = f32[1000,64] parameter(0)\ny = f32[64000] reshape(x)\nROOT z = f32[64,1000] bitcast(y)\n"));
    CHECK(names.work.kernels.empty());
    const Lowered table =
        lowered(entry("t = f32[5000,8] parameter(0)\ni = s32[3,1] parameter(1)\n"
                      "ROOT g = f32[3,8] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
                      "index_vector_dim=1, slice_sizes={1,8}\n"));
    CHECK(table.read() == 4 * (3 * 8 + 3));
    CHECK(table.written() == 4 * 3 * 8);
}

TEST_CASE("a convolution multiplies what its windows meet, not padding") {
    // 5 outputs of a window of 3 over 5 inputs with a zero on each side: 2 + 3 + 3 + 3 + 2 = 13 taps.
    const Lowered conv =
        lowered(entry("x = f32[2,5,4] parameter(0)\nk = f32[3,4,6] parameter(1)\n"
                      "ROOT y = f32[2,5,6] convolution(x, k), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f\n"));
    CHECK(conv.matmul_flops() == 2 * 2 * 13 * 4 * 6);
    CHECK(conv.read() == 4 * (2 * 5 * 4 + 3 * 4 * 6));
    CHECK(conv.written() == 4 * 2 * 5 * 6);
    // Depthwise: each of 4 features has a kernel of its own.
    const Lowered depthwise = lowered(entry(
        "x = f32[2,5,4] parameter(0)\nk = f32[3,1,4] parameter(1)\n"
        "ROOT y = f32[2,3,4] convolution(x, k), window={size=3}, dim_labels=b0f_0io->b0f, feature_group_count=4\n"));
    CHECK(depthwise.matmul_flops() + depthwise.vector_flops() == 2 * 2 * 3 * 3 * 4);
}

TEST_CASE("collectives lie on the axes of a mesh that their groups imply") {
    const Lowered module = lowered(
        "HloModule m, num_partitions=8\nadd {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
        " ROOT s = f32[] add(a, b)\n}\n" +
        entry("x = f32[16,64] parameter(0)\n"
              "r = f32[16,64] all-reduce(x), replica_groups={{0,1},{2,3},{4,5},{6,7}}, to_apply=add\n"
              "g = f32[64,64] all-gather(r), replica_groups=[2,4]<=[4,2]T(1,0), dimensions={0}\n"
              "ROOT s = f32[16,64] reduce-scatter(g), replica_groups={{0,2,4,6},{1,3,5,7}}, dimensions={0}, "
              "to_apply=add\n")
            .substr(12));
    CHECK(module.imported.devices == 8);
    REQUIRE(module.imported.program.mesh.size() == 2);
    CHECK(module.imported.program.mesh[0].size == 2);  // neighbours: the innermost axis
    CHECK(module.imported.program.mesh[1].size == 4);
    const auto& messages = module.work.total.messages;
    REQUIRE(messages.size() == 3);
    CHECK(messages[0].message.kind == CollectiveKind::all_reduce);
    CHECK(messages[0].message.axes == std::vector<std::string>{module.imported.program.mesh[0].name});
    CHECK(module.value(messages[0].message.bytes) == 4 * 16 * 64);
    CHECK(messages[1].message.axes == std::vector<std::string>{module.imported.program.mesh[1].name});
    CHECK(module.value(messages[1].message.bytes) == 4 * 64 * 64);
    CHECK(messages[2].message.kind == CollectiveKind::reduce_scatter);
    CHECK(module.value(messages[2].message.bytes) == 4 * 64 * 64);

    const auto irregular = import_hlo(entry(
        "x = f32[4] parameter(0)\nROOT g = f32[8] all-gather(x), replica_groups={{0,3},{1,2}}, dimensions={0}\n"));
    REQUIRE_FALSE(irregular);
    CHECK(irregular.error().message.find("regular distances") != std::string::npos);
    REQUIRE(irregular.error().place);
    CHECK(irregular.error().place->line == 4);
}

TEST_CASE("fused attention of a library is attention: two products, halved by a causal mask") {
    const std::string call =
        "q = bf16[2,128,8,64] parameter(0)\nk = bf16[2,128,4,64] parameter(1)\nv = bf16[2,128,4,64] parameter(2)\n"
        "ROOT o = (bf16[2,128,8,64], f32[2,8,128,1]) custom-call(q, k, v), "
        "custom_call_target=\"te_fused_attn_forward_ffi\", backend_config={attn_heads = 8 : i64, input_batch = 2 : "
        "i64, "
        "kv_max_seqlen = 128 : i64, mask_type = MASK : i64, num_gqa_groups = 4 : i64, q_max_seqlen = 128 : i64, "
        "qk_head_dim = 64 : i64, v_head_dim = 64 : i64}\n";
    const auto with = [&](const std::string& mask) {
        std::string text = call;
        return lowered(entry(text.replace(text.find("MASK"), 4, mask)));
    };
    const double full = 2.0 * 2 * 8 * 128 * 128 * (64 + 64);
    CHECK(with("0").matmul_flops() == full);
    CHECK(with("2").matmul_flops() == full / 2);
    CHECK(with("2").read() == 2 * (2 * 128 * 8 * 64 + 2 * 2 * 128 * 4 * 64));
    CHECK(with("2").imported.gaps.empty());

    // Keys and values in one array, of which each half is read.
    std::string packed = call;
    packed.replace(packed.find("MASK"), 4, "0");
    packed.replace(packed.find("k = bf16[2,128,4,64]"), 20, "k = bf16[2,128,2,4,64]");
    packed.replace(packed.find("v = bf16[2,128,4,64]"), 20, "v = bf16[0]");
    const Lowered halves = lowered(entry(packed));
    CHECK(halves.matmul_flops() == full);
    CHECK(halves.read() == 2 * (2 * 128 * 8 * 64 + 2 * 2 * 128 * 4 * 64));

    // Backward, five products: the scores again, and the gradients of values, probabilities, queries and keys.
    const Lowered backward = lowered(entry(
        "q = bf16[2,128,8,64] parameter(0)\nk = bf16[2,128,4,64] parameter(1)\nv = bf16[2,128,4,64] parameter(2)\n"
        "g = bf16[2,128,8,64] parameter(3)\n"
        "ROOT d = (bf16[2,128,8,64], bf16[2,128,4,64], bf16[2,128,4,64]) custom-call(q, k, v, g), "
        "custom_call_target=\"te_fused_attn_backward_ffi\", backend_config={attn_heads = 8 : i64, input_batch = 2 : "
        "i64, kv_max_seqlen = 128 : i64, mask_type = 2 : i64, num_gqa_groups = 4 : i64, q_max_seqlen = 128 : i64, "
        "qk_head_dim = 64 : i64, v_head_dim = 64 : i64}\n"));
    CHECK(backward.matmul_flops() == 2.5 * full / 2);
    CHECK(backward.work.kernels.size() == 1);
    const double heads = 2 * 128 * 64 * 2;  // bytes of one head of all tokens
    CHECK(backward.read() == heads * (8 + 4 + 4 + 8));
    CHECK(backward.written() == heads * (8 + 4 + 4));
}

TEST_CASE("what is unknown is said, and its bytes count; of branches the larger one counts") {
    const Lowered unknown =
        lowered(entry("x = f32[100] parameter(0)\nROOT y = f32[50] custom-call(x), custom_call_target=\"mystery\"\n"));
    REQUIRE(unknown.imported.gaps.size() == 1);
    CHECK(unknown.imported.gaps[0].what.find("mystery") != std::string::npos);
    CHECK(unknown.read() == 400);
    CHECK(unknown.written() == 200);
    const Lowered said = lowered(
        entry("x = f32[100] parameter(0)\nROOT y = f32[50] custom-call(x), custom_call_target=\"tpu_custom_call\", "
              "backend_config={\"custom_call_config\": {\"cost_estimate\": {\"flops\": \"12345\", "
              "\"transcendentals\": \"0\", \"bytes_accessed\": \"600\"}}}\n"));
    CHECK(said.imported.gaps.empty());
    CHECK(said.matmul_flops() == 12345);  // it may use matrix units

    const Lowered branches = lowered(
        "HloModule m\nsmall {\n p = f32[8,8] parameter(0)\n ROOT n = f32[8,8] negate(p)\n}\n"
        "large {\n p = f32[8,8] parameter(0)\n"
        " ROOT d = f32[8,8] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n" +
        entry("c = pred[] parameter(0)\nx = f32[8,8] parameter(1)\n"
              "ROOT y = f32[8,8] conditional(c, x, x), true_computation=small, false_computation=large\n")
            .substr(12));
    CHECK(branches.matmul_flops() == 1024);
    REQUIRE_FALSE(branches.imported.notes.empty());
    CHECK(branches.imported.notes[0].find("large") != std::string::npos);
}

TEST_CASE("what is inlined knows the innermost call that has a source line") {
    const Lowered called = lowered(
        "HloModule m\ninner {\n p = f32[8] parameter(0)\n ROOT n = f32[8] sort(p), dimensions={0}, to_apply=less\n}\n"
        "less {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = pred[] compare(a, b), direction=LT\n}\n"
        "outer {\n p = f32[8] parameter(0)\n ROOT n = f32[8] call(p), to_apply=inner\n}\n" +
        entry("x = f32[8] parameter(0)\n"
              "one = f32[8] call(x), to_apply=outer, metadata={source_file=\"f.py\" source_line=3}\n"
              "two = f32[8] call(one), to_apply=outer, metadata={source_file=\"f.py\" source_line=4}\n"
              "ROOT three = f32[8] negate(two)\n")
            .substr(12));
    const ImportedProgram& imported = called.imported;
    REQUIRE(imported.called_by.size() == imported.program.values.size());
    std::vector<std::uint32_t> calls;
    for (const auto& call : imported.called_by) calls.push_back(call ? call->instruction : 0);
    CHECK(calls == std::vector<std::uint32_t>{0, 1, 2, 0});
}

TEST_CASE("instructions that contradict their shapes are errors with their place") {
    const auto code_of = [](const std::string& body) {
        const auto imported = import_hlo(entry(body));
        return imported ? std::string("none") : imported.error().message;
    };
    CHECK(code_of("a = f32[8,16] parameter(0)\nb = f32[17,32] parameter(1)\n"
                  "ROOT c = f32[8,32] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n")
              .find("different sizes") != std::string::npos);
    CHECK(code_of("a = f32[8,16] parameter(0)\nROOT c = f32[8,32] add(a, a)\n").find("f32[8,16]") != std::string::npos);
    CHECK(code_of("a = f32[8,16] parameter(0)\nROOT c = f32[8] get-tuple-element(a), index=1\n").find("tuple") !=
          std::string::npos);
    CHECK(code_of("a = f32[8] parameter(0)\nROOT c = f32[8,16] broadcast(a), dimensions={1}\n").find("size") !=
          std::string::npos);
}

TEST_CASE("attention is one kernel that reads slices in place, and a bias once for all heads") {
    const auto part = [](const std::string& name, const std::string& range) {
        return name + " = bf16[2,16,32] slice(qkv), slice={[0:2], [0:16], [" + range + "]}\n";
    };
    const Lowered attention = lowered(
        entry("qkv = bf16[2,16,96] parameter(0)\n bias = bf16[16,16] parameter(1)\n" + part("q", "0:32") +
              part("k", "32:64") + part("v", "64:96") +
              "ROOT o = bf16[2,16,32] custom-call(q, k, v, bias), custom_call_target=\"attention\", backend_config="
              "{\"input_batch\":2,\"attn_heads\":4,\"num_gqa_groups\":4,\"q_max_seqlen\":16,\"kv_max_seqlen\":16,"
              "\"qk_head_dim\":8,\"v_head_dim\":8,\"mask_type\":0,\"bias_dims\":\"ts\"}\n"));
    CHECK(attention.work.kernels.size() == 1);
    CHECK(attention.read() == 2 * (2 * 16 * 96 + 16 * 16));
    CHECK(attention.written() == 2 * 2 * 16 * 32);
    // Two matmuls of 4 heads; the bias is added, and a softmax has 4 FLOPs for each score.
    const double scores = 2 * 4 * 16 * 16;
    CHECK(attention.matmul_flops() == 2 * 2 * scores * 8);
    CHECK(attention.vector_flops() == 5 * scores);
    CHECK(attention.imported.gaps.empty());
}

// Two arrays of 4000 bytes are read and two written, before and after a compiler has fused them, as the root or not.
TEST_CASE("what a fusion returns is written also where the fusion uses it") {
    const std::string sums = " m = f32[1000] add(p0, p1)\n v = f32[1000] multiply(m, p1)\n";
    const std::string parameters = " p0 = f32[1000] parameter(0)\n p1 = f32[1000] parameter(1)\n";
    const std::string pair = "(f32[1000], f32[1000])";
    const std::string results = " ROOT t = " + pair + " tuple(m, v)\n";
    const std::string fused = "HloModule m\nf {\n" + parameters + sums + results + "}\nENTRY e {\n" + parameters;
    const std::string call = " = " + pair + " fusion(p0, p1), kind=kLoop, calls=f\n";
    const std::string parts =
        " m = f32[1000] get-tuple-element(r), index=0\n"
        " v = f32[1000] get-tuple-element(r), index=1\n";
    for (const std::string& text : {entry(parameters + sums + results), fused + " ROOT r" + call + "}\n",
                                    fused + " r" + call + parts + results + "}\n"}) {
        CAPTURE(text);
        const Lowered two = lowered(text);
        CHECK(two.read() == 8000);
        CHECK(two.written() == 8000);
        CHECK(two.vector_flops() == 2000);
    }
    // what nobody needs afterwards is not
    const Lowered one = lowered(entry(parameters + sums + " ROOT n = f32[1000] negate(v)\n"));
    CHECK(one.written() == 4000);
}
