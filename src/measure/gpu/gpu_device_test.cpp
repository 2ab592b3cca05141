// Compares programs on the fake GPU of tests/gpu/fake_cuda.cpp with the reference. The fake GPU really computes
// matmuls, and the kernels of other steps are compiled for the processor, so these tests cover their source code.
#include "measure/gpu/gpu_device.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "measure/gpu/gpu.hpp"
#include "measure/gpu/gpu_steps.hpp"
#include "measure/run/execution.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

/// The compiler for kernels of real GPUs, if it is installed.
const Nvrtc* real_compiler() {
    static const Result<Nvrtc> newest = load_nvrtc("", 13);
    static const Result<Nvrtc> older = load_nvrtc("", 12);
    return newest ? &*newest : older ? &*older : nullptr;
}

/// Compiles every kernel of the program's steps for Ampere, Hopper and Blackwell.
void compiles_for_real(const std::string& text) {
    if (real_compiler() == nullptr) return;
    auto program = parse_program(text, "");
    REQUIRE(program);
    const auto steps = make_steps(*program);
    REQUIRE(steps);
    for (const RunStep& step : steps->steps) {
        if (std::holds_alternative<MatmulStep>(step.what)) continue;
        const auto source = gpu_step_source(step, *steps, 132);
        REQUIRE(source);
        for (const std::string* part : {&source->text, &source->join}) {
            for (const int capability : {80, 90, 100}) {
                if (part->empty()) continue;
                const auto binary = compile_for_gpu(*real_compiler(), "NVRTC", *part, capability);
                if (!binary && binary.error().code == "absent") continue;  // an older toolkit
                REQUIRE_MESSAGE(binary, (binary ? "" : binary.error().message));
            }
        }
    }
}

Result<CheckResult> checked_on_gpu(const std::string& text) {
    auto program = parse_program(text, "");
    if (!program) return fail(program.error());
    auto device = make_gpu_device(ROOFLINE_FAKE_CUDA_FOLDER);
    if (!device) return fail(device.error());
    auto execution = Execution::make(*program, **device, {1.0});
    if (!execution) return fail(execution.error());
    return (*execution)->check({1 << 20, 1e9});
}

void agrees_on_gpu(const std::string& text) {
    CAPTURE(text);
    const auto check = checked_on_gpu(text);
    REQUIRE_MESSAGE(check, (check ? "" : check.error().message));
    CHECK(check->checked > 0);
    CHECK_MESSAGE(check->of_bound <= 1, check->worst);
    compiles_for_real(text);
}

void refused_by_gpu(const std::string& text, const std::string& message) {
    CAPTURE(text);
    const auto check = checked_on_gpu(text);
    REQUIRE_FALSE(check);
    CHECK(check.error().code == "unsupported");
    CHECK_MESSAGE(check.error().message.find(message) != std::string::npos, check.error().message);
}

}  // namespace

TEST_CASE("gpu: matmuls in every dtype and with every layout of their operands") {
    for (const char* dtype : {"f64", "f32", "bf16", "f16", "tf32"}) {
        const std::string d = dtype;
        agrees_on_gpu(d + "[B=5, D=33] * " + d + "[D, F=18] -> " + d + "[B, F]");
    }
    agrees_on_gpu("bf16[B=5, D=33] * bf16[D, F=18] -> f32[B, F]");
    agrees_on_gpu("f32[D=9, B=6] * f32[D, F=7] -> f32[B, F]");
    agrees_on_gpu("f32[B=6, D=9] * f32[F=7, D] -> f32[B, F]");
    agrees_on_gpu("f32[B=6, D=9] * f32[D, F=7] -> f32[F, B]");
    agrees_on_gpu("f32[B=6] * f32[B, F=7] -> f32[F]");
    agrees_on_gpu("f32[F=7, D=5] * f32[D] -> f32[F]");
    agrees_on_gpu("f32[D=9] * f32[D] -> f32[]");
    agrees_on_gpu("f32[B=3, D=9] * f32[B, D] -> f32[B]");
    agrees_on_gpu("int8[B=4, D=16] * int8[F=6, D] -> int32[B, F]");
    agrees_on_gpu("X : int8[B=4, D=16]; param W : int8[D, F=6]\nY : int32[B, F] = X * W");  // packed
    agrees_on_gpu("bf16[B=2, T=3, K=2, G=2, H=8] * bf16[B, S=5, K, H] -> bf16[B, K, G, T, S]");
    agrees_on_gpu("bf16[B=2, K=2, G=2, T=3, S=5] * bf16[B, S, K, H=8] -> bf16[B, T, K, G, H]");
}

TEST_CASE("gpu: elementwise work") {
    agrees_on_gpu("X : bf16[B=7, D=304]\nY : bf16[B, D] = gelu(X) + silu(X) * tanh(X)");
    agrees_on_gpu("X : f32[B=7, D=30]\nY : f16[D, B] = 1 - exp(X) / 8");
    agrees_on_gpu("X : f64[B=7, D=30]; Z : f64[D]\nY : f64[B, D] = maximum(erf(X), Z) + sigmoid(Z)");
    agrees_on_gpu("X : int32[B=7, D=30]; Z : int32[D]\nY : int32[B, D] = X * Z - square(X)");
    agrees_on_gpu("X : f32[B=7, D=32]\nY : int8[B, D] = 100 * X");
    agrees_on_gpu("X : f32[B=7, D=30]; C : bool[B]\nY : f32[B, D] = where(C, X, softplus(X))");
    agrees_on_gpu("X : f32[B=3, T=5, H=16]\nY : f32[B, T, H] = rope(2 * X)");
    agrees_on_gpu("X : f32[B=3, T=5, H=16]\nY : f32[B, T, H] = unrope(2 * X)");
    agrees_on_gpu("X : f32[B=7, D=32]; G : f32[B, D]\nY : f32[B, D] = dsilu(X, G) + dgelu(8 * X, G) * dsigmoid(X, G)");
    agrees_on_gpu("X : f32[]\nY : f32[] = exp(X)");
}

TEST_CASE("gpu: reductions, softmax and norms") {
    agrees_on_gpu("X : bf16[B=5, D=300]\nY : bf16[D, B] = softmax[D](X + X)");
    agrees_on_gpu("X : f32[B=5, D=300, E=3]\nY : f32[B, D, E] = layernorm[D](X)");
    agrees_on_gpu("X : f16[B=5, D=300]\nY : f16[B, D] = norm[D](X)");
    agrees_on_gpu("X : f32[B=5, D=300, E=3]\nY : f32[B, E] = logsumexp[D](X)");
    agrees_on_gpu("X : f32[B=5, D=300, E=3]\nY : f32[D] = max[B,E](X * X)");
    agrees_on_gpu("X : int32[B=5, D=300]\nY : int32[B] = sum[D](X)");
    agrees_on_gpu("A : f32[B=5, T=40, D=3]; X : f32[B, T, D]\nH : f32[B, T, D] = scan[T](A, X)");
    for (const char* f : {"dsoftmax", "dnorm", "dlayernorm", "dscan"}) {
        agrees_on_gpu(std::string("X : f32[B=5, D=300]; G : f32[B, D]\nY : f32[B, D] = ") + f + "[D](X, G)");
    }
    // rows that are divided into pieces because they are few and long
    agrees_on_gpu("X : f32[B=2, D=100000]\nY : f32[B] = mean[D](X)");
    agrees_on_gpu("X : f64[D=100000]\nY : f64[] = min[D](X)");
}

TEST_CASE("gpu: gathers, and whole programs") {
    agrees_on_gpu("Table : f32[D=8, V=50]; Ids : int32[B=7, S=2]\nX : f32[B, S, D] = gather[V](Table, Ids)");
    agrees_on_gpu(
        "T=12, S=12, H=16, B=2, N=3\nQ : bf16[B,T,N,H]; K : bf16[B,S,N,H]; V : bf16[B,S,N,H]\n"
        "fuse {\n  P : bf16[B,N,T,S] = softmax[S](causal[T,S](Q * K) / 4)\n  O : bf16[B,T,N,H] = P * V\n}");
    agrees_on_gpu(
        "B=4, D=16, F=24, L=3\nX : f32[B,D]\n"
        "repeat L {\n  param W : f32[D,F]; param V : f32[F,D]\n  H : f32[B,F] = relu(X * W)\n"
        "  X = norm[D](X + H * V)\n}\nY : f32[B,D] = 2 * X");
}

TEST_CASE("gpu: operations that it cannot run are rejected by name") {
    refused_by_gpu("bf16[B=4, D=16] * int8[D, F=6] -> bf16[B, F]", "does not multiply bf16 by int8");
    refused_by_gpu("int8[D=16, B=4] * int8[F=6, D] -> int32[B, F]", "contiguous along the summed dimension");
    refused_by_gpu("Cache : f32[S=9, H=4]; At : int32[B=5]; New : f32[B, H]\nCache = scatter[S](Cache, At, New)",
                   "scatter does not run on the GPU");
    const auto absent = make_gpu_device("/nonexistent");
    REQUIRE_FALSE(absent);
    CHECK(absent.error().code == "absent");
}

TEST_CASE("gpu: the kernel that packs weights compiles for a real GPU") {
    if (real_compiler() == nullptr) {
        MESSAGE("skipped, as are the compilations of step kernels: NVRTC is not installed");
        return;
    }
    const auto transpose = compile_for_gpu(*real_compiler(), "NVRTC", gpu_transpose_source(64, 32), 90);
    CHECK_MESSAGE(transpose, (transpose ? "" : transpose.error().message));
}
