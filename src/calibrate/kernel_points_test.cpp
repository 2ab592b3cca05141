// Tests of what is known of the kernels of a program: their kinds, heads and rows.
#include <doctest/doctest.h>

#include <vector>

#include "base/approx_test.hpp"
#include "calibrate/analysed_program_test.hpp"
#include "calibrate/kernel/kernel_kind.hpp"

using namespace roofline::core;
using Kind = KernelKind;

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

TEST_CASE("the key of attention has the number of heads that read the same keys, that of other kernels their rows") {
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

TEST_CASE("grouped matmuls are a kind of their own") {
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

TEST_CASE("gradients of grouped matmuls are variants: of the matrices, and of the rows") {
    const AnalysedProgram layer = analysed(
        "X : bf16[T=4, D=8]\nIds : int32[T, A=2]\nW : bf16[E=4, D, F=16]\n"
        "Xe : bf16[E, C=2, D] = dispatch[E,C](X, Ids)\nH : bf16[E, C, F] = Xe *_D W\ndH : bf16[E, C, F] = copy(H)\n"
        "dXe : bf16[E, C, D] = dH *_F W\nreversed : bf16[E, D, C] = W *_F dH\ndW : bf16[E, D, F] = Xe *_C dH");
    std::vector<std::string> variants;
    for (const KernelWork& kernel : layer.analysis.work.kernels) {
        const KernelKey key = kernel_key(layer.program, kernel);
        if (key.kind == Kind::grouped_contraction) variants.push_back(key.variant);
    }
    CHECK(variants == std::vector<std::string>{"", "transposed", "transposed", "weight gradient"});
    // a plain matmul has no variant, however its matrix lies
    const AnalysedProgram plain = analysed("bf16[C=8, F=16] *_F bf16[D=8, F] -> bf16[C, D]");
    CHECK(kernel_key(plain.program, plain.analysis.work.kernels.front()).variant.empty());
}

TEST_CASE("matmuls side by side are one matmul that is as wide as both") {
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
