// What our own counting makes of libraries' calls, and of operations that XLA's rules count differently or not at all.
#include <doctest/doctest.h>

#include <string>

#include "base/approx_test.hpp"
#include "import/xla/lower/lowered_test.hpp"

using namespace roofline::core;

namespace {

// A convolution of cuDNN with a stride of 2, 4 input and 6 output features: operands, result and the rest of the text.
Lowered library_convolution_of(const std::string& operands, const std::string& result, const std::string& target) {
    return lowered(entry(operands + "ROOT y = (" + result +
                         ", u8[16]) custom-call(a, b), window={size=3 stride=2 pad=1_1}, " +
                         "dim_labels=b0f_0io->b0f, custom_call_target=\"" + target + "\", backend_config={}\n"));
}

}  // namespace

TEST_CASE("the three convolutions of a training step multiply the same pairs, whichever part they compute") {
    // 4 outputs of a window of 3 over 7 inputs with a zero on each side, every second one: 2 + 3 + 3 + 2 = 10 taps.
    const double flops = 2.0 * 10 * 2 * 4 * 6;
    const std::string x = "f32[2,7,4]";
    const std::string k = "f32[3,4,6]";
    const std::string y = "f32[2,4,6]";
    const double x_bytes = 4.0 * 2 * 7 * 4;
    const double k_bytes = 4.0 * 3 * 4 * 6;
    const double y_bytes = 4.0 * 2 * 4 * 6;
    const auto operands = [](const std::string& a, const std::string& b) {
        return "a = " + a + " parameter(0)\nb = " + b + " parameter(1)\n";
    };
    const Lowered forward = library_convolution_of(operands(x, k), y, "__cudnn$convForward");
    CHECK(forward.matmul_flops() == approx(flops));
    CHECK(forward.read() == x_bytes + k_bytes);
    CHECK(forward.written() == y_bytes);
    const Lowered input = library_convolution_of(operands(y, k), x, "__cudnn$convBackwardInput");
    CHECK(input.matmul_flops() == approx(flops));
    CHECK(input.read() == y_bytes + k_bytes);
    CHECK(input.written() == x_bytes);
    const Lowered kernel = library_convolution_of(operands(x, y), k, "__cudnn$convBackwardFilter");
    CHECK(kernel.matmul_flops() == approx(flops));
    CHECK(kernel.read() == x_bytes + y_bytes);
    CHECK(kernel.written() == k_bytes);
    CHECK(forward.imported.gaps.empty());
}

TEST_CASE("a convolution with bias and activation reads the bias, and adds and compares each result once") {
    const Lowered conv = lowered(entry(
        "a = f32[2,7,4] parameter(0)\nb = f32[3,4,6] parameter(1)\nc = f32[6] parameter(2)\n"
        "ROOT y = (f32[2,4,6], u8[16]) custom-call(a, b, c), window={size=3 stride=2 pad=1_1}, "
        "dim_labels=b0f_0io->b0f, custom_call_target=\"__cudnn$convBiasActivationForward\", "
        "backend_config={\"cudnn_conv_backend_config\":{\"activation_mode\":\"kRelu\",\"conv_result_scale\":1}}\n"));
    CHECK(conv.matmul_flops() == approx(2.0 * 10 * 2 * 4 * 6));
    CHECK(conv.vector_flops() == 2 * (2 * 4 * 6));
    CHECK(conv.read() == 4 * (2 * 7 * 4 + 3 * 4 * 6 + 6));
    CHECK(conv.written() == 4 * 2 * 4 * 6);  // once, after the activation
    CHECK(conv.work.kernels.size() == 1);
}

TEST_CASE("a matmul of cuBLASLt with an epilogue reads its bias, and keeps what the backward pass needs") {
    const auto with = [](const std::string& epilogue, const std::string& result) {
        return lowered(
            entry("a = bf16[8,16] parameter(0)\nb = bf16[16,32] parameter(1)\nc = bf16[32] parameter(2)\n"
                  "ROOT y = (" +
                  result +
                  ", s8[64]) custom-call(a, b, c), custom_call_target=\"__cublas$lt$matmul\", "
                  "backend_config={\"gemm_backend_config\":{\"beta\":0,\"dot_dimension_numbers\":{"
                  "\"lhs_contracting_dimensions\":[\"1\"],\"rhs_contracting_dimensions\":[\"0\"],"
                  "\"lhs_batch_dimensions\":[],\"rhs_batch_dimensions\":[]},\"epilogue\":\"" +
                  epilogue + "\"}}\n"));
    };
    const Lowered relu = with("BIAS_RELU", "bf16[8,32]");
    CHECK(relu.matmul_flops() == 2 * 8 * 16 * 32);
    CHECK(relu.vector_flops() == 2 * 8 * 32);
    CHECK(relu.read() == 2 * (8 * 16 + 16 * 32 + 32));
    CHECK(relu.written() == 2 * 8 * 32);
    CHECK(relu.work.kernels.size() == 1);
    const Lowered kept = with("BIAS_GELU_AUX", "bf16[8,32], bf16[8,32]");
    CHECK(kept.matmul_flops() == 2 * 8 * 16 * 32);
    CHECK(kept.vector_flops() == (1 + 8) * 8 * 32);  // the bias, and gelu as the notation counts it
    CHECK(kept.written() == 2 * 2 * 8 * 32);
    CHECK(kept.imported.gaps.empty());
}

TEST_CASE("attention of cuDNN has the sizes of its scores, and the mask halves it") {
    const auto with = [](const std::string& target, const std::string& operands, const std::string& result,
                         const std::string& mask) {
        return lowered(
            entry("q = bf16[2,128,8,64] parameter(0)\nk = bf16[2,128,4,64] parameter(1)\n"
                  "v = bf16[2,128,4,64] parameter(2)\ng = bf16[2,128,8,64] parameter(3)\n"
                  "s = f32[2,8,128] parameter(4)\n"
                  "ROOT o = (" +
                  result + ", u8[0]) custom-call(" + operands + "), custom_call_target=\"" + target +
                  "\", backend_config={\"cudnn_fmha_backend_config\":{\"fmha_scale\":0.125,"
                  "\"dropout_rate\":0,\"intermediate_tensor_shape\":{\"element_type\":\"BF16\","
                  "\"dimensions\":[\"2\",\"8\",\"128\",\"128\"],\"tuple_shapes\":[]},\"mask_type\":\"" +
                  mask + "\"}}\n"));
    };
    const std::string out = "bf16[2,128,8,64], f32[2,8,128]";
    const double product = 2.0 * 2 * 8 * 128 * 128 * 64;
    const Lowered forward = with("__cudnn$fmhaSoftmax", "q, k, v", out, "NO_MASK");
    CHECK(forward.matmul_flops() == 2 * product);
    CHECK(forward.read() == 2 * (2 * 128 * 8 * 64 + 2 * 2 * 128 * 4 * 64));
    CHECK(forward.imported.gaps.empty());
    CHECK(with("__cudnn$fmhaSoftmax", "q, k, v", out, "CAUSAL").matmul_flops() == product);
    const std::string gradients = "bf16[2,128,8,64], bf16[2,128,4,64], bf16[2,128,4,64]";
    const Lowered backward = with("__cudnn$fmhaSoftmaxBackward", "q, k, v, s, g", gradients, "NO_MASK");
    CHECK(backward.matmul_flops() == 5 * product);
    CHECK(backward.imported.gaps.empty());
}

TEST_CASE("batch normalisation: FLOPs for each number, and every array once") {
    const std::string arrays =
        "x = f32[4,6,8] parameter(0)\ns = f32[8] parameter(1)\no = f32[8] parameter(2)\nm = f32[8] parameter(3)\n"
        "v = f32[8] parameter(4)\ng = f32[4,6,8] parameter(5)\n";
    constexpr double n = 4 * 6 * 8;
    // A norm with its mean: 5 for each number and 3 for each channel; scale and offset.
    const Lowered training = lowered(
        entry(arrays +
              "ROOT y = (f32[4,6,8], f32[8], f32[8]) batch-norm-training(x, s, o), epsilon=0.001, feature_index=2\n"));
    CHECK(training.vector_flops() == (5 + 2) * n + 3 * 8);
    CHECK(training.read() == 4 * (n + 2 * 8));
    CHECK(training.written() == 4 * n);
    CHECK(training.imported.gaps.empty());
    // Subtract the mean, multiply and add; for each channel a multiply, and rsqrt, which is transcendental.
    const Lowered inference = lowered(
        entry(arrays + "ROOT y = f32[4,6,8] batch-norm-inference(x, s, o, m, v), epsilon=0.001, feature_index=2\n"));
    CHECK(inference.vector_flops() == 3 * n + 8);
    CHECK(inference.read() == 4 * (n + 4 * 8));
    // The derivative of a norm with its mean has 11 FLOPs for each number and 7 for each channel; the gradient is
    // scaled first, that of the offset is a sum, that of the scale a sum of products with the normalised numbers, which
    // take a subtract and a multiply.
    const Lowered gradient = lowered(entry(
        arrays +
        "ROOT y = (f32[4,6,8], f32[8], f32[8]) batch-norm-grad(x, s, m, v, g), epsilon=0.001, feature_index=2\n"));
    CHECK(gradient.vector_flops() == (11 + 1 + 1 + 2 + 2) * n + 7 * 8);
    CHECK(gradient.read() == 4 * (2 * n + 3 * 8));
    CHECK(gradient.written() == 4 * (n + 2 * 8));
}

TEST_CASE("transforms, sorts and triangular solves: what XLA counts too often is put right") {
    // 5 N log2 N for complex numbers; XLA has 8 N times the product of the logarithms.
    const Lowered fft =
        lowered(entry("x = c64[3,16,8] parameter(0)\nROOT y = c64[3,16,8] fft(x), fft_type=FFT, fft_length={16,8}\n"));
    CHECK(fft.vector_flops() + fft.matmul_flops() == 5.0 * 3 * 16 * 8 * (4 + 3));
    const Lowered real =
        lowered(entry("x = f32[3,16] parameter(0)\nROOT y = c64[3,9] fft(x), fft_type=RFFT, fft_length={16}\n"));
    CHECK(real.vector_flops() + real.matmul_flops() == 2.5 * 3 * 16 * 4);
    // Three comparisons for each of 5 rows of 8 numbers.
    const Lowered sort = lowered(
        "HloModule m\nless {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
        " ROOT l = pred[] compare(a, b), direction=LT\n}\nENTRY e {\n x = f32[5,8] parameter(0)\n"
        " ROOT s = f32[5,8] sort(x), dimensions={1}, to_apply=less\n}\n");
    CHECK(sort.vector_flops() == 5 * 8 * 3);
    // Each of 6 right-hand sides takes N^2 multiplies and adds together.
    const Lowered solve =
        lowered(entry("a = f32[4,4] parameter(0)\nb = f32[4,6] parameter(1)\nROOT x = f32[4,6] triangular-solve(a, b), "
                      "left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE\n"));
    CHECK(solve.vector_flops() + solve.matmul_flops() == 4 * 4 * 6);
    // N^3 / 3, as XLA's.
    const Lowered cholesky = lowered(entry("a = f32[6,6] parameter(0)\nROOT l = f32[6,6] cholesky(a), lower=true\n"));
    CHECK(cholesky.vector_flops() + cholesky.matmul_flops() == 6 * 6 * 6 / 3);
}

TEST_CASE("windows count as XLA counts them, and random bits are no gap") {
    const std::string add =
        "HloModule m\nadd {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
        " ROOT s = f32[] add(a, b)\n}\n";
    // Each of 4 results adds the 2 numbers of its window to the initial one.
    const Lowered pool = lowered(add +
                                 "ENTRY e {\n x = f32[8] parameter(0)\n z = f32[] constant(0)\n"
                                 " ROOT y = f32[4] reduce-window(x, z), window={size=2 stride=2}, to_apply=add\n}\n");
    CHECK(pool.vector_flops() == 4 * (2 - 1));
    CHECK(pool.read() == 4 * 8);
    const Lowered bits = lowered(
        entry("s = u64[2] parameter(0)\nROOT r = (u64[2], u32[64]) rng-bit-generator(s), algorithm=rng_default\n"));
    CHECK(bits.imported.gaps.empty());
    CHECK(bits.written() == 8 * 2 + 4 * 64);
}

TEST_CASE("a collective of several arrays is one message with the bytes of all of them") {
    const std::string add =
        "HloModule m, num_partitions=4\nadd {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
        " ROOT s = f32[] add(a, b)\n}\n";
    const Lowered sums =
        lowered(add +
                "ENTRY e {\n x = f32[16,64] parameter(0)\n y = bf16[32] parameter(1)\n"
                " ROOT r = (f32[16,64], bf16[32]) all-reduce(x, y), replica_groups={{0,1,2,3}}, to_apply=add\n}\n");
    REQUIRE(sums.work.total.messages.size() == 1);
    CHECK(sums.value(sums.work.total.messages[0].message.bytes) == 4 * 16 * 64 + 2 * 32);
    CHECK(sums.work.kernels.size() == 1);
    CHECK(sums.imported.results.size() == 2);
    const Lowered gathered = lowered(add +
                                     "ENTRY e {\n x = f32[16] parameter(0)\n y = f32[8] parameter(1)\n"
                                     " s = ((f32[16], f32[8]), (f32[64], f32[32])) all-gather-start(x, y), "
                                     "replica_groups={{0,1,2,3}}, dimensions={0}\n"
                                     " ROOT d = (f32[64], f32[32]) all-gather-done(s)\n}\n");
    REQUIRE(gathered.work.total.messages.size() == 1);
    CHECK(gathered.value(gathered.work.total.messages[0].message.bytes) == 4 * (64 + 32));
    // Of ragged rows only those of the first operand cross links; the rest are offsets, sizes and the buffer.
    const Lowered ragged =
        lowered(add +
                "ENTRY e {\n x = f32[16,8] parameter(0)\n o = f32[64,8] parameter(1)\n"
                " i = s32[4] parameter(2)\n"
                " ROOT r = f32[64,8] ragged-all-to-all(x, o, i, i, i, i), replica_groups={{0,1,2,3}}\n}\n");
    REQUIRE(ragged.work.total.messages.size() == 1);
}
