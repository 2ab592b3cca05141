#include "calibrate/expected_program.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/approx_test.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;
using Kind = KernelKind;

namespace {

// 100 TFLOP/s in bf16, 10 TFLOP/s of vector f32, 1 TB/s
constexpr const char* toy = R"(id = "toy"
name = "Toy"
[[matmul]]
dtype = "bf16"
value = "100 TFLOP/s"
basis = "spec"
source = "made up"
[[vector]]
dtype = "f32"
value = "10 TFLOP/s"
basis = "spec"
source = "made up"
[[memory]]
level = "hbm"
[memory.bandwidth]
value = "1 TB/s"
basis = "spec"
source = "made up"
)";

struct AnalysedProgram {
    Program program;
    ProgramAnalysis analysis;
    System system;
};

AnalysedProgram analysed(std::string_view text) {
    auto program = parse_program(text, "");
    REQUIRE_MESSAGE(program, program.error().message);
    auto machine = parse_machine(toy, "toy.toml");
    REQUIRE_MESSAGE(machine, machine.error().message);
    AnalysedProgram result{std::move(*program), {}, {}};
    auto slice = make_slice(*machine, "1");
    REQUIRE(slice);
    result.system.slice = std::move(*slice);
    auto analysis = analyse(result.program, *machine, {});
    REQUIRE_MESSAGE(analysis, analysis.error().message);
    result.analysis = std::move(*analysis);
    return result;
}

CalibratedKernel model_of(KernelKind kind, const char* dtype, const char* software, KernelModel model,
                          std::int64_t rows = 10) {
    CalibratedKernel kernel;
    kernel.key = {kind, dtype, software, ""};
    kernel.fit.model = model;
    kernel.fit.rows = rows;
    kernel.fit.error_held_out = 0.1;
    return kernel;
}

}  // namespace

TEST_CASE("the kind of a kernel follows from its operations") {
    const auto key = [](const char* text) {
        const AnalysedProgram one = analysed(text);
        return kernel_key(one.program, one.analysis.work.kernels.front());
    };
    CHECK(key("bf16[B=8, D=8] * bf16[D, F=8] -> bf16[B, F]") == KernelKey{Kind::contraction, "bf16", "", ""});
    CHECK(key("bf16[B=8, D=8] * int8[D, F=8] -> bf16[B, F]") == KernelKey{Kind::contraction, "bf16 x int8", "", ""});
    CHECK(key("bf16[B=8, D=8] + bf16[B, D] -> bf16[B, D]") == KernelKey{Kind::elementwise, "", "", ""});
    CHECK(key("gelu(bf16[B=8, D=8]) -> bf16[B, D]") == KernelKey{Kind::activation, "", "", ""});
    CHECK(key("X : bf16[B=8, D=8]\nY : bf16[B, D]\nZ : bf16[B, D] = norm[D](X) * silu(Y)").kind == Kind::normalisation);
    CHECK(key("softmax[D](bf16[B=8, D=8]) -> bf16[B, D]").kind == Kind::softmax);
    CHECK(key("rope(bf16[B=8, D=8]) -> bf16[B, D]").kind == Kind::rotation);
    CHECK(key("X : bf16[V=9, D=8]\nids : int32[B=4]\nZ : bf16[B, D] = gather[V](X, ids)").kind == Kind::gather);
    CHECK(key("Q: bf16[T=8, H=8]\nK: bf16[S=8, H]\nV: bf16[S, H]\nfuse {\n P : bf16[T, S] = softmax[S](Q * K)\n"
              " O : bf16[T, H] = P * V\n}") == KernelKey{Kind::attention, "bf16", "", ""});
    CHECK(key("Q: bf16[T=8, H=8]\nK: bf16[S=8, H]\nV: bf16[S, H]\nfuse {\n"
              " P : bf16[T, S] = softmax[S](causal[T, S](Q * K))\n O : bf16[T, H] = P * V\n}")
              .kind == Kind::causal_attention);
    CHECK(key("X : bf16[B=8, D=8]\nY : f32[B] = sum[D](X)").kind == Kind::reduction);
    // a norm and a softmax by their formulas go over rows as the named ones do
    CHECK(key("X : bf16[B=8, D=8]\nZ : bf16[B, D] = X * rsqrt(mean[D](square(X)))").kind == Kind::normalisation);
    CHECK(key("X : bf16[B=8, D=8]\nZ : bf16[B, D] = exp(X) / sum[D](exp(X))").kind == Kind::softmax);
    // two matmuls in one kernel without a softmax
    CHECK(key("X: bf16[B=8, D=8]\nW: bf16[D, F=8]\nU: bf16[D, F]\nH : bf16[B, F] = silu(X *_D W) * (X *_D U)").kind ==
          Kind::contraction);
}

TEST_CASE("attention over latents and quantisations are kinds of their own") {
    const auto key = [](const char* text) {
        const AnalysedProgram one = analysed(text);
        return kernel_key(one.program, one.analysis.work.kernels.front());
    };
    CHECK(key("Q: bf16[N=8, L=8]\nE: bf16[N, R=4]\nA: bf16[S=16, L]\nF: bf16[S, R]\nfuse {\n"
              " P : bf16[N, S] = softmax[S]((Q *_L A) + (E *_R F))\n O : bf16[N, L] = P * A\n}") ==
          KernelKey{Kind::latent_attention, "bf16", "", ""});
    CHECK(key("X : bf16[B=8, D=8]\nW : fp8[D, F=8]\nQ : fp8[B, D] = X\nC : bf16[B, F] = Q * W") ==
          KernelKey{Kind::quantisation, "fp8", "", ""});
    CHECK(key("X : bf16[B=8, D=8]\nQ : fp8[B, D] = X").kind == Kind::elementwise);  // no matmul reads it
    CHECK(key("X : fp8[B=8, D=8]\nQ : bf16[B, D] = X").kind == Kind::elementwise);
    CHECK(key("X : f32[B=8, D=8]\nQ : bf16[B, D] = X").kind == Kind::elementwise);
    CHECK(key("X : bf16[B=8, D=8]\nQ : fp8[B, D] = gelu(X)").kind == Kind::activation);
    CHECK(key("Q: bf16[N=8, H=8]\nA: bf16[C=64, H]\nV: bf16[C, H]\nW: s32[S=16]\nfuse {\n"
              " P : bf16[N, S] = softmax[S](Q * gather[C](A, W))\n O : bf16[N, H] = P * gather[C](V, W)\n}") ==
          KernelKey{Kind::windowed_attention, "bf16", "", ""});
    Calibration calibration;
    calibration.kernels = {model_of(Kind::attention, "bf16", "", {}), model_of(Kind::elementwise, "", "", {})};
    CHECK(choose_kernel(calibration, {Kind::latent_attention, "bf16", "", ""}, "") == calibration.kernels.data());
    CHECK(choose_kernel(calibration, {Kind::windowed_attention, "bf16", "", ""}, "") == calibration.kernels.data());
    CHECK(choose_kernel(calibration, {Kind::quantisation, "fp8", "", ""}, "")->key.kind == Kind::elementwise);
}

TEST_CASE("of attention it is known how many heads read the same keys, of other kernels their rows") {
    // 3 groups of 4 heads of size 8, and 5 queries over 16 keys, with two bytes per element at 1 TB/s
    const auto point = [](const std::string& queries, const std::string& scores) {
        const AnalysedProgram one =
            analysed("Q: bf16[" + queries + "]\nA: bf16[K=3, S=16, H=8]\nV: bf16[K, S, H]\nfuse {\n" +
                     " P : bf16[K, G=4, T=5, S] = softmax[S](" + scores + ")\n O : bf16[K, G, T, H] = P * V\n}");
        return kernel_runs(one.program, one.analysis, {}).front().point;
    };
    for (const KernelPoint& each : {point("K=3, G=4, T=5, H=8", "Q * A"), point("K=3, T=5, G=4, H=8", "Q * A"),
                                    point("K=3, T=5, G=4, H=8", "causal[T, S](Q * A)")}) {
        CHECK(each.m == 20);
        CHECK(each.heads == 4);
        CHECK(each.shared_read_s == approx(2 * 3 * 16 * 8 * 2 / 1e12));
        CHECK(each.rows == 0);
    }
    // 16 positions of a cache of 64, with 4 bytes per index; only these positions are read
    const AnalysedProgram window = analysed(
        "Q: bf16[K=3, G=4, T=5, H=8]\nA: bf16[K, C=64, H]\nV: bf16[K, C, H]\nW: s32[S=16]\nfuse {\n"
        " P : bf16[K, G, T, S] = softmax[S](Q * gather[C](A, W))\n O : bf16[K, G, T, H] = P * gather[C](V, W)\n}");
    const KernelPoint behind = kernel_runs(window.program, window.analysis, {}).front().point;
    CHECK(behind.cache == 64);
    CHECK(behind.depth == 16);
    CHECK(behind.heads == 4);
    CHECK(behind.n == 8);
    CHECK(behind.shared_read_s == approx((2 * 3 * 16 * 8 * 2 + 4 * 16) / 1e12));
    CHECK(point("K=3, G=4, T=5, H=8", "Q * A").cache == 0);
    // tokens may precede the heads of the keys
    const AnalysedProgram before = analysed(
        "Q: bf16[B=2, T=5, K=3, G=4, H=8]\nA: bf16[B, S=16, K, H]\nV: bf16[B, S, K, H]\nfuse {\n"
        " P : bf16[B, T, K, G, S] = softmax[S](Q *_H A)\n O : bf16[B, T, K, G, H] = P *_S V\n}");
    CHECK(kernel_runs(before.program, before.analysis, {}).front().point.m == 20);
    CHECK(kernel_runs(before.program, before.analysis, {}).front().point.heads == 4);
    // a matmul without the mask's token dimension has no heads
    const AnalysedProgram other = analysed(
        "P: bf16[K=3, T=5, S=16]\nA: bf16[K, T, H=8]\nV: bf16[K, S, H]\nfuse {\n D : bf16[K, S, H] = P *_T A\n"
        " O : bf16[K, T, S] = softmax[S](causal[T, S](A *_H V))\n}");
    CHECK(kernel_runs(other.program, other.analysis, {}).front().point.heads == 1);
    // without a mask, rows may be heads or tokens
    const AnalysedProgram no_mask = analysed(
        "Q: bf16[K=3, G=4, H=8]\nA: bf16[K, S=16, H]\nV: bf16[K, S, H]\nfuse {\n"
        " P : bf16[K, G, S] = softmax[S](Q * A)\n O : bf16[K, G, H] = P * V\n}");
    CHECK(kernel_runs(no_mask.program, no_mask.analysis, {}).front().point.heads == 0);
    const AnalysedProgram norm = analysed("softmax[D](bf16[B=6, C=7, D=8]) -> bf16[B, C, D]");
    CHECK(kernel_runs(no_mask.program, no_mask.analysis, {}).front().point.whole_rows);
    // a backward pass also computes gradients of keys and values, which have different rows
    const AnalysedProgram backward = analysed(
        "Q: bf16[T=8, H=8]\nA: bf16[S=16, H]\nV: bf16[S, H]\ndO: bf16[T, H]\nfuse {\n"
        " P : bf16[T, S] = softmax[S](Q *_H A)\n dV : bf16[S, H] = P *_T dO\n dP : bf16[T, S] = dO *_H V\n"
        " dQ : bf16[T, H] = dP *_S A\n dA : bf16[S, H] = dP *_T Q\n}");
    CHECK_FALSE(kernel_runs(backward.program, backward.analysis, {}).front().point.whole_rows);
    // gradients of keys are summed over the 4 heads that share the keys, with 8 queries each, for 16 keys; the measured
    // range refers to keys
    const AnalysedProgram shared = analysed(
        "Q: bf16[T=8, G=4, H=8]\nA: bf16[S=16, H]\nV: bf16[S, H]\ndO: bf16[T, G, H]\nfuse {\n"
        " P : bf16[T, G, S] = softmax[S](causal[T, S](Q *_H A))\n dV : bf16[S, H] = P *_{T, G} dO\n"
        " dP : bf16[T, G, S] = causal[T, S](dO *_H V)\n dQ : bf16[T, G, H] = dP *_S A\n"
        " dA : bf16[S, H] = dP *_{T, G} Q\n}");
    CHECK(kernel_runs(shared.program, shared.analysis, {}).front().point.depth == 32);
    CHECK(kernel_runs(shared.program, shared.analysis, {}).front().point.keys == 16);
    KernelFit measured;
    measured.ranges[depth_size] = {16, 16};
    CHECK(sizes_for_ranges(measured, kernel_runs(shared.program, shared.analysis, {}).front().point)[depth_size] == 16);
    CHECK_FALSE(kernel_runs(norm.program, norm.analysis, {}).front().point.whole_rows);
    CHECK(kernel_runs(norm.program, norm.analysis, {}).front().point.rows == 42);
    CHECK(kernel_runs(norm.program, norm.analysis, {}).front().point.columns == 8);
    // a row contains all heads, which are rotated by the same position
    const AnalysedProgram rope = analysed("rope(bf16[B=6, N=7, D=8]) -> bf16[B, N, D]");
    CHECK(kernel_runs(rope.program, rope.analysis, {}).front().point.rows == 6);
    CHECK(kernel_runs(rope.program, rope.analysis, {}).front().point.columns == 56);
    // only the requested rows of the table are read
    const AnalysedProgram rows = analysed("X : bf16[V=9, D=8]\nids : int32[B=4]\nZ : bf16[B, D] = gather[V](X, ids)");
    CHECK(kernel_runs(rows.program, rows.analysis, {}).front().point.rows == 4);
}

TEST_CASE("products of groups of rows are a kind of their own") {
    const AnalysedProgram layer = analysed(
        "X : bf16[T=4, D=8]\nIds : int32[T, A=2]\nW : bf16[E=4, D, F=8]\nV : bf16[E, F, D]\n"
        "Xe : bf16[E, C=2, D] = dispatch[E,C](X, Ids)\nH : bf16[E, C, F] = silu(Xe *_D W)\nY : bf16[E, C, D] = H *_F "
        "V\n"
        "Z : bf16[T, D]\nB : bf16[D, F]\nQ : bf16[T, F] = Z *_D B");
    std::vector<KernelKind> kinds;
    for (const KernelWork& kernel : layer.analysis.work.kernels)
        kinds.push_back(kernel_key(layer.program, kernel).kind);
    CHECK(kinds == std::vector<KernelKind>{Kind::elementwise, Kind::grouped_contraction, Kind::grouped_contraction,
                                           Kind::contraction});
    // a batch dimension without a dispatch does not form groups
    const AnalysedProgram batch = analysed("bf16[E=4, C=8, D=8] * bf16[E, D, F=8] -> bf16[E, C, F]");
    CHECK(kernel_key(batch.program, batch.analysis.work.kernels.front()).kind == Kind::contraction);
}

TEST_CASE("products side by side are one that is as wide as both") {
    const AnalysedProgram gated =
        analysed("X: bf16[B=8, D=16]\nW: bf16[D, F=32]\nU: bf16[D, F]\nH : bf16[B, F] = silu(X *_D W) * (X *_D U)");
    const auto runs = kernel_runs(gated.program, gated.analysis, {});
    REQUIRE(runs.size() == 1);
    CHECK(runs.front().point.m == 8);
    CHECK(runs.front().point.n == 64);
    CHECK(runs.front().point.depth == 16);
    // matmuls one after another do not form one, because no tile belongs to both
    const AnalysedProgram chain = analysed(
        "X: bf16[B=8, D=16]\nW: bf16[D, F=32]\nU: bf16[F, G=4]\nfuse {\n H : bf16[B, F] = X *_D W\n"
        " Y : bf16[B, G] = H *_F U\n}");
    CHECK(kernel_runs(chain.program, chain.analysis, {}).front().point.n == 0);
}

TEST_CASE("the model that fits best speaks for a kernel") {
    Calibration calibration;
    calibration.kernels = {
        model_of(Kind::contraction, "bf16", "vllm 0.9", {}), model_of(Kind::contraction, "bf16", "vllm 0.14", {}),
        model_of(Kind::contraction, "bf16", "trtllm 1.3", {}, 100), model_of(Kind::elementwise, "", "", {})};
    const KernelKey matmul{Kind::contraction, "bf16", "", ""};
    const auto software = [&](const std::string& asked) {
        return choose_kernel(calibration, matmul, asked)->key.software;
    };
    CHECK(software("vllm") == "vllm 0.14");  // versions are not ordered alphabetically
    CHECK(software("vllm-0.9") == "vllm 0.9");
    CHECK(software("") == "trtllm 1.3");  // among libraries with equal errors, the one with the most measurements
    for (CalibratedKernel& model : calibration.kernels)
        model.fit.error_held_out = model.key.software == "vllm 0.14" ? 0.1 : 0.2;
    CHECK(software("") == "vllm 0.14");  // otherwise the one with the lowest error
    CHECK(choose_kernel(calibration, {Kind::elementwise, "", "", ""}, "")->key.kind == Kind::elementwise);
    CHECK(choose_kernel(calibration, {Kind::contraction, "fp8", "", ""}, "") == nullptr);
    CHECK(choose_kernel(calibration, {Kind::attention, "bf16", "", ""}, "") == nullptr);
}

TEST_CASE("a product that quantises an operand on its way has the model of its arithmetic") {
    Calibration calibration;
    calibration.kernels = {model_of(Kind::contraction, "bf16", "", {}), model_of(Kind::contraction, "fp8", "", {}),
                           model_of(Kind::contraction, "bf16 x int8", "", {})};
    const auto dtype = [&](const std::string& asked) {
        const CalibratedKernel* const model = choose_kernel(calibration, {Kind::contraction, asked, "", ""}, "");
        return model == nullptr ? "none" : model->key.dtype;
    };
    CHECK(dtype("fp8 x bf16") == "fp8");
    CHECK(dtype("mxfp8 x bf16") == "fp8");  // no fp8 model accounts for its scales
    CHECK(dtype("mxfp8") == "none");        // no operand is quantized
    CHECK(dtype("fp8 x nvfp4") == "none");  // nor here, because fp8 is the wider operand
    CHECK(dtype("nvfp4 x bf16") == "none");
    CHECK(dtype("bf16 x int8") == "bf16 x int8");
    CHECK(dtype("bf16 x int4") == "none");  // an integer is only a storage format
    // kernels that leave activations in 16 or 8 bits read the same weights
    calibration.kernels.push_back(model_of(Kind::contraction, "bf16 x mxfp4", "", {}));
    CHECK(dtype("mxfp4 x bf16") == "bf16 x mxfp4");
    calibration.kernels.push_back(model_of(Kind::contraction, "mxfp4", "", {}));
    CHECK(dtype("mxfp4 x bf16") == "mxfp4");
}

TEST_CASE("a mask that leaves nothing out makes no causal kernel, and products side by side are one") {
    const auto attention = [](bool masked) {
        AnalysedProgram one = analysed(
            "Q: bf16[T=8, H=8]\nK: bf16[S=8, H]\nV: bf16[S, H]\nfuse {\n"
            " P : bf16[T, S] = softmax[S](causal[T, S](Q * K))\n O : bf16[T, H] = P * V\n}");
        if (!masked) {
            for (Value& value : one.program.values) value.masks.clear();
        }
        return kernel_key(one.program, one.analysis.work.kernels.front()).kind;
    };
    CHECK(attention(true) == Kind::causal_attention);
    CHECK(attention(false) == Kind::attention);
    const auto rows = [](std::int64_t tokens, std::int64_t positions) {
        const AnalysedProgram one =
            analysed(fmt::format("Q: bf16[T={}, H=8]\nK: bf16[S={}, H]\nV: bf16[S, H]\nfuse {{\n"
                                 " P : bf16[T, S] = softmax[S](causal[T, S](Q * K))\n O : bf16[T, H] = P * V\n}}",
                                 tokens, positions));
        return kernel_key(one.program, one.analysis.work.kernels.front()).kind;
    };
    CHECK(rows(1, 8) == Kind::attention);         // a decode step
    CHECK(rows(2, 8) == Kind::causal_attention);  // a prefill chunk
    CHECK(rows(1, 1) == Kind::causal_attention);  // a prompt of one token
    const AnalysedProgram gated = analysed(
        "X: bf16[B=100, D=1000]\nW: bf16[D, F=200]\nU: bf16[D, E=300]\n"
        "fuse {\n G : bf16[B, F] = X *_D W\n H : bf16[B, E] = X *_D U\n}");
    ChipTraits chip;
    chip.cores = 100;
    const auto runs = kernel_runs(gated.program, gated.analysis, chip);
    REQUIRE(runs.size() == 1);
    CHECK(runs.front().point.m == 100);
    CHECK(runs.front().point.n == 500);
    const AnalysedProgram chained = analysed(
        "X: bf16[B=100, D=1000]\nW: bf16[D, F=200]\nU: bf16[F, E=300]\n"
        "fuse {\n G : bf16[B, F] = X *_D W\n H : bf16[B, E] = G *_F U\n}");
    CHECK(kernel_runs(chained.program, chained.analysis, chip).front().point.m == 0);
}

TEST_CASE("a kind without a model of its own takes the broader one's") {
    Calibration calibration;
    calibration.kernels = {model_of(Kind::attention, "bf16", "", {}), model_of(Kind::elementwise, "", "", {})};
    CHECK(choose_kernel(calibration, {Kind::causal_attention, "bf16", "", ""}, "") == calibration.kernels.data());
    CHECK(choose_kernel(calibration, {Kind::reduction, "", "", ""}, "")->key.kind == Kind::elementwise);
    calibration.kernels.push_back(model_of(Kind::reduction, "", "", {}));
    CHECK(choose_kernel(calibration, {Kind::reduction, "", "", ""}, "")->key.kind == Kind::reduction);
    CHECK(choose_kernel(calibration, {Kind::elementwise, "", "", ""}, "")->key.kind == Kind::elementwise);
    CHECK(choose_kernel(calibration, {Kind::softmax, "", "", ""}, "")->key.kind == Kind::elementwise);
    calibration.kernels.push_back(model_of(Kind::normalisation, "", "", {}));
    CHECK(choose_kernel(calibration, {Kind::softmax, "", "", ""}, "")->key.kind == Kind::normalisation);
    CHECK(choose_kernel(calibration, {Kind::activation, "", "", ""}, "")->key.kind == Kind::elementwise);
    // kernels launched by a host come last, unless they are requested
    calibration.kernels.push_back(model_of(Kind::activation, "", "torch 2.0", {}));
    calibration.kernels.back().key.variant = "eager";
    CHECK(choose_kernel(calibration, {Kind::activation, "", "", ""}, "")->key.kind == Kind::elementwise);
    CHECK(choose_kernel(calibration, {Kind::activation, "", "", ""}, "torch")->key.kind == Kind::activation);
    CHECK(choose_kernel(calibration, {Kind::activation, "", "", "eager"}, "")->key.kind == Kind::activation);
    CHECK(choose_kernel(calibration, {Kind::contraction, "bf16", "", ""}, "") == nullptr);
}

TEST_CASE("a model of a broader kind is off by what such models were") {
    ProgramModels models;
    const CalibratedKernel model = model_of(Kind::elementwise, "", "", {});
    models.kernels = {&model, &model};
    models.transferred_from = {"", ""};
    models.instead = {std::nullopt, Kind::softmax};
    CHECK(models.error_of(0) == approx(0.1));
    CHECK(models.error_of(1) == approx(0.49));
    // of the same kind, it is a model of other dtypes
    const CalibratedKernel product = model_of(Kind::contraction, "bf16", "", {});
    models.kernels = {&product, &product};
    models.instead = {std::nullopt, Kind::contraction};
    CHECK(models.error_of(1) == approx(0.41));
}

TEST_CASE("experts take the model of products, and kernels that of their variant first") {
    Calibration calibration;
    calibration.kernels = {model_of(Kind::contraction, "fp8", "", {}), model_of(Kind::contraction, "fp8", "", {}, 500)};
    calibration.kernels.back().key.variant = "block scales";
    const auto chosen = [&](const KernelKey& key) {
        return choose_kernel(calibration, key, "") - calibration.kernels.data();
    };
    CHECK(chosen({Kind::grouped_contraction, "fp8", "", ""}) == 0);
    CHECK(chosen({Kind::contraction, "fp8", "", ""}) == 0);
    CHECK(chosen({Kind::contraction, "fp8", "", "block scales"}) == 1);
    CHECK(chosen({Kind::contraction, "fp8", "", "eager"}) == 0);
    calibration.kernels.push_back(model_of(Kind::grouped_contraction, "fp8", "", {}));
    CHECK(chosen({Kind::grouped_contraction, "fp8", "", ""}) == 2);
    CHECK(chosen({Kind::contraction, "fp8", "", ""}) == 0);
}

TEST_CASE("experts that chips share out are groups as those that one chip has") {
    // rows dispatched to all four experts are used by those that a chip has
    AnalysedProgram layer = analysed(
        "X : bf16[T=4, D=8]\nIds : int32[T, A=2]\nW : bf16[E=4, D, F=8]\n"
        "Xe : bf16[E, C=2, D] = dispatch[E,C](X, Ids)\nH : bf16[E, C, F] = Xe *_D W");
    KernelWork product = layer.analysis.work.kernels.back();
    REQUIRE(product.matmuls.size() == 1);
    REQUIRE(product.matmuls.front().batch == std::vector<std::string>{"E"});
    CHECK(kernel_key(layer.program, product).kind == Kind::grouped_contraction);
    product.matmuls.front().batch = {layer.program.local_dims.add({"E", 2})};
    CHECK(kernel_key(layer.program, product).kind == Kind::grouped_contraction);
    product.matmuls.front().batch = {layer.program.local_dims.add({"F", 2})};
    CHECK(kernel_key(layer.program, product).kind == Kind::contraction);
}

TEST_CASE("of layers of experts that library speaks whose GEMMs the program has") {
    Calibration calibration;
    calibration.machine = "toy";
    calibration.kernels = {model_of(Kind::contraction, "bf16", "one 1.0", {}),
                           model_of(Kind::contraction, "bf16", "two 2.0", {}),
                           model_of(Kind::grouped_contraction, "bf16", "one 1.0", {}),
                           model_of(Kind::grouped_contraction, "bf16", "two 2.0", {})};
    calibration.kernels[0].fit.error_held_out = 0.04;
    calibration.kernels[1].fit.error_held_out = 0.05;
    calibration.kernels[2].fit.error_held_out = 0.19;
    // This library has the lower error on its own expert layers, but its GEMMs are not the selected ones.
    calibration.kernels[3].fit.error_held_out = 0.10;
    const auto software = [&](KernelKind kind, const std::string& asked) {
        Calibrations calibrations({calibration});
        const CalibratedKernel* model = choose_kernel(calibrations, "toy", {kind, "bf16", "", ""}, asked);
        REQUIRE(model != nullptr);
        CHECK(model->key.kind == kind);
        return model->key.software;
    };
    CHECK(software(Kind::contraction, "") == "one 1.0");
    CHECK(software(Kind::grouped_contraction, "") == "one 1.0");
    CHECK(software(Kind::grouped_contraction, "two") == "two 2.0");
    // if the library has no such model, another one is selected
    calibration.kernels.erase(calibration.kernels.begin() + 2);
    CHECK(software(Kind::grouped_contraction, "") == "two 2.0");
}

TEST_CASE("what a kernel's model sees") {
    // 2 * 100 * 1000 * 200 FLOPs at 100 TFLOP/s; 2 * (100*1000 + 1000*200 + 100*200) bytes at 1 TB/s; three runs
    const AnalysedProgram one =
        analysed("X: bf16[B=100, D=1000]\nW: bf16[D, F=200]\nrepeat 3 {\n Y : bf16[B, F] = X * W\n}");
    const auto runs = kernel_runs(one.program, one.analysis, {});
    REQUIRE(runs.size() == 1);
    CHECK(runs.front().count == 3);
    CHECK(runs.front().point.math_s == approx(4e7 / 1e14));
    CHECK(runs.front().point.memory_s == approx(6.4e5 / 1e12));
    CHECK(runs.front().point.vector_s == 0);
    CHECK(runs.front().point.depth == 1000);
    CHECK(runs.front().point.write_s == approx(4e4 / 1e12));
    CHECK(runs.front().point.m == 100);
    CHECK(runs.front().point.n == 200);
    CHECK(runs.front().point.batch == 1);
    CHECK(runs.front().point.partial_sums_s == approx(8 * 2e4 / 1e12));
    CHECK(runs.front().point.cores == 0);
    CHECK(runs.front().point.fill == 0);
    // the cache is filled by all tensors that the program reads and writes
    const auto cached = kernel_runs(one.program, one.analysis, {132, 1e6});
    CHECK(cached.front().point.fill == approx(3 * 6.4e5 / 1e6));
    CHECK(cached.front().point.cores == 132);
}

TEST_CASE("a kernel's model sees what a square array pads, and what stays between matmuls") {
    // attention of 2 x 4 x 100 queries of 64 elements over 300 keys; an array has sides of 128
    const AnalysedProgram one = analysed(
        "Q: bf16[B=2, N=4, T=100, H=64]\nA: bf16[B, N, S=300, H]\nV: bf16[B, N, S, H]\nfuse {\n"
        " P: bf16[B, N, T, S] = softmax[S](Q *_H A)\n O: bf16[B, N, T, H] = P *_S V\n}");
    ChipTraits chip;
    const auto runs = kernel_runs(one.program, one.analysis, chip);
    REQUIRE(runs.size() == 1);
    CHECK(runs.front().point.padding_s == 0);
    // the scores, in 4 bytes: 2 * 4 * 100 * 300 elements at 1 TB/s
    CHECK(runs.front().point.inner_s == approx(4 * 2.4e5 / 1e12));
    chip.array_side = 128;
    const auto padded = kernel_runs(one.program, one.analysis, chip);
    // in both matmuls 64 becomes 128 and 300 becomes 384: 2.56 times as much
    CHECK(padded.front().point.padding_s == approx(padded.front().point.math_s * 1.56));
    CHECK(kernel_key(one.program, one.analysis.work.kernels.front()).variant.empty());
    // the result of a plain matmul is written
    const AnalysedProgram plain = analysed("X: bf16[B=100, D=1000]\nW: bf16[D, F=200]\nY : bf16[B, F] = X * W");
    CHECK(kernel_runs(plain.program, plain.analysis, chip).front().point.inner_s == 0);
    const AnalysedProgram gated = analysed(
        "X: bf16[B=100, D=1000]\nU: bf16[D, F=200]\nW: bf16[D, F]\nY : bf16[B, F] = silu(X *_D U) * (X *_D W)");
    CHECK(kernel_runs(gated.program, gated.analysis, chip).front().point.inner_s == approx(4 * 4e4 / 1e12));
}

TEST_CASE("a kernel's model sees the rows of a group") {
    const AnalysedProgram one = analysed(
        "X: bf16[R=800, K=100]\nIds: int32[R, A=1]\nW: bf16[G=8, K, N=50]\nfuse {\n"
        " Xe: bf16[G, C=100, K] = dispatch[G,C](X, Ids)\n Y: bf16[G, C, N] = Xe *_K W\n}\nV: bf16[G, N, K=100]\n"
        "Z: bf16[G, C, K] = Y *_N V\nP: bf16[K, N] = sum[G](W)");
    const auto runs = kernel_runs(one.program, one.analysis, {});
    REQUIRE(runs.size() == 3);
    CHECK(runs[0].point.group == 100);
    CHECK(runs[1].point.group == 100);
    CHECK(runs[2].point.group == 0);
}

TEST_CASE("a model of gated units is not used for plain matmuls") {
    Calibration calibration;
    calibration.kernels.push_back(model_of(KernelKind::contraction, "bf16", "xla", {}));
    calibration.kernels.back().key.variant = "gated";
    CHECK(choose_kernel(calibration, {KernelKind::contraction, "bf16", "", ""}, "") == nullptr);
    CHECK(choose_kernel(calibration, {KernelKind::contraction, "bf16", "", "gated"}, "") != nullptr);
}

TEST_CASE("the derivative of attention is a variant") {
    const AnalysedProgram one = analysed(
        "Q: bf16[B=2, T=100, H=64]\nA: bf16[B, S=300, H]\nV: bf16[B, S, H]\ndO: bf16[B, T, H]\nfuse {\n"
        " P: bf16[B, T, S] = softmax[S](Q *_H A)\n dP: bf16[B, T, S] = dO *_H V\n"
        " dS: bf16[B, T, S] = dsoftmax[S](P, dP)\n dQ: bf16[B, T, H] = dS *_S A\n}");
    const KernelKey key = kernel_key(one.program, one.analysis.work.kernels.front());
    CHECK(key.kind == KernelKind::attention);
    CHECK(key.variant == "backward");
}

TEST_CASE("a program takes its kernels one after another, in a sweep as at one size") {
    const char* text = "X: bf16[B=100, D=1000]\nW: bf16[D, F=200]\nY : bf16[B, F] = X * W\nZ : bf16[B, F] = gelu(Y)";
    const AnalysedProgram one = analysed(text);
    const CalibratedKernel matmul = model_of(Kind::contraction, "bf16", "", {2e-6, 1e-9, 0.8, 1, 0.64, 1});
    const CalibratedKernel gelu = model_of(Kind::elementwise, "", "", {1e-6, 0, 1, 1, 0.5, 2});
    ProgramModels models;
    models.kernels = {&matmul, &gelu};
    const CompiledExpected at_once(one.program, one.analysis, one.system, models, {});
    std::vector<double> scratch(at_once.places());
    // matmul: 2 us + 1000 ns + 0.4 us / 0.8 + 0.64 us / 0.64 = 4.5 us.
    // gelu: 8 FLOPs for each of 20,000 elements at 10 TFLOP/s are 16 ns, 80,000 bytes at half of 1 TB/s are 160 ns: 1
    // us + 160.798 ns
    const ExpectedProgramTime expected = at_once.evaluate({}, scratch);
    CHECK(expected.seconds == approx(4.5e-6 + 1.160798e-6).epsilon(1e-6));
    CHECK(expected.error == approx(0.1));
    const CompiledExpected swept(one.program, one.analysis, one.system, models, {"B"});
    scratch.resize(swept.places());
    const double size = 100;
    CHECK(swept.evaluate({&size, 1}, scratch).seconds == approx(expected.seconds).epsilon(1e-12));
    const double large = 10000;
    const AnalysedProgram other = analysed(
        "X: bf16[B=10000, D=1000]\nW: bf16[D, F=200]\nY : bf16[B, F] = X * W\n"
        "Z : bf16[B, F] = gelu(Y)");
    const CompiledExpected there(other.program, other.analysis, other.system, models, {});
    CHECK(swept.evaluate({&large, 1}, scratch).seconds == approx(there.evaluate({}, scratch).seconds));
    CHECK(there.evaluate({}, scratch).seconds >= other.analysis.total.bounds.lower);
}

TEST_CASE("attention without a mask goes from the model of decode to that of prefill as its rows grow") {
    CalibratedKernel decode = model_of(Kind::attention, "bf16", "", {10e-6});
    CalibratedKernel prefill = model_of(Kind::causal_attention, "bf16", "", {1e-6, 0, 0.5});
    // One head of size 128 and 1024 keys: 4 * T * 1024 * 128 FLOPs at 100 TFLOP/s, none of which a mask saves.
    const auto at = [&](std::int64_t rows) {
        const AnalysedProgram one =
            analysed(fmt::format("Q: bf16[T={}, H=128]\nA: bf16[S=1024, H]\nV: bf16[S, H]\nfuse {{\n"
                                 " P : bf16[T, S] = softmax[S](Q * A)\n O : bf16[T, H] = P * V\n}}",
                                 rows));
        ProgramModels models;
        models.kernels = {&decode};
        models.others = {&prefill};
        models.instead = {std::nullopt};
        const CompiledExpected compiled(one.program, one.analysis, one.system, models, {});
        std::vector<double> scratch(compiled.places());
        const ExpectedProgramTime expected = compiled.evaluate({}, scratch);
        const KernelPoint point = kernel_runs(one.program, one.analysis, {}).front().point;
        CHECK(models.seconds_at(0, point) == approx(expected.seconds));
        CHECK(models.error_of(0, point) == approx(expected.error));
        CHECK((models.model_at(0, point) == &prefill) == (rows > 256));
        return expected;
    };
    // 128 rows: 10 us + 0.671 us. 512 rows: 1 us + 2.684 us / 0.5. 256 rows: sqrt(11.342 us * 3.684 us).
    CHECK(at(128).seconds == approx(10.67109e-6).epsilon(1e-6));
    CHECK(at(512).seconds == approx(6.36871e-6).epsilon(1e-6));
    CHECK(at(4096).seconds == approx(43.94967e-6).epsilon(1e-6));
    CHECK(at(256).seconds == approx(6.46441e-6).epsilon(1e-6));
    CHECK(at(128).error == approx(0.1));
    CHECK(at(512).error == approx(0.36));
    // halfway between the two
    CHECK(at(256).error == approx(0.23));
}

TEST_CASE("libraries are ranked by the machines that were measured with them, those compared first") {
    const auto calibration = [](const std::string& machine, const std::vector<std::pair<std::string, double>>& models) {
        Calibration all;
        all.machine = machine;
        for (const auto& [software, error] : models) {
            CalibratedKernel kernel;
            kernel.key = {Kind::contraction, "fp8", software, ""};
            kernel.fit.rows = 100;
            kernel.fit.error_held_out = error;
            all.kernels.push_back(kernel);
        }
        return all;
    };
    Calibrations all(std::vector<Calibration>{
        calibration("a", {{"vllm 2", 0.01}, {"trtllm 1", 0.09}}), calibration("b", {{"vllm 1", 0.01}}),
        calibration("c", {{"trtllm 1", 0.05}, {"sglang 1", 0.01}}), calibration("d", {{"trtllm 2", 0.05}})});
    const KernelKey key{Kind::contraction, "fp8", "", ""};
    CHECK(all.libraries(key) == std::vector<std::string>{"trtllm", "vllm", "sglang"});
    CHECK(choose_kernel(all, "a", key, "")->key.software == "trtllm 1");
    CHECK(choose_kernel(all, "c", key, "")->key.software == "trtllm 1");
    CHECK(choose_kernel(all, "a", key, "vllm")->key.software == "vllm 2");
    all.compare({"a", "b"});
    CHECK(all.libraries(key).front() == "vllm");
    CHECK(choose_kernel(all, "a", key, "")->key.software == "vllm 2");
    CHECK(choose_kernel(all, "b", key, "")->key.software == "vllm 1");
}
