#include "import/kernel_table.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

using DimSizes = std::vector<std::pair<std::string, std::int64_t>>;

KernelTable kernels_of(std::string_view text) {
    auto reader = CsvReader::open(text, "t.csv");
    REQUIRE(reader);
    REQUIRE(is_kernel_table(reader->header()));
    auto table = read_kernel_table(*reader);
    REQUIRE_MESSAGE(table, table.error().message);
    for (const MeasuredKernel& row : table->rows) {
        const auto program = parse_program(row.program, "");
        CHECK_MESSAGE(program, row.program);
    }
    return std::move(*table);
}

const std::string matmuls = "source,accelerator,dtype_in,dtype_out,m,n,k,time_us,notes\n";
const std::string elementwise = "accelerator,op,shape,dtype,time_s,notes\n";
const std::string attention =
    "accelerator,phase,dtype,kv_dtype,batch,q_len,kv_len,heads,kv_heads,head_dim,window,time_s\n";
const std::string experts =
    "source,accelerator,dtype,tokens,hidden,inter,topk,experts,moe_tp,moe_ep,routing,time_s,lib\n";

}  // namespace

TEST_CASE("rows of matmuls become matmuls in the notation") {
    const KernelTable table = kernels_of(matmuls +
                                         "aic:vllm/0.14.0,h100_sxm,bf16,bf16,1,32,64,2.5,\n"
                                         "x,h100_sxm,int8_wo,bf16,1,32,64,2.5,wallclock\n"
                                         "x,h100_sxm,fp8,bf16,1,32,64,2.5,cuda graph; timer 1us\n");
    REQUIRE(table.rows.size() == 3);
    const MeasuredKernel& first = table.rows.front();
    CHECK(first.line == 2);
    CHECK(first.operation == "matmul");
    CHECK(first.program == "bf16[M, K] * bf16[K, N] -> bf16[M, N]");
    CHECK(first.sizes == DimSizes{{"M", 1}, {"N", 32}, {"K", 64}});
    CHECK(first.shape() == "M=1, N=32, K=64");
    CHECK(first.time_s == approx(2.5e-6));
    CHECK(first.software == "vllm 0.14.0");
    CHECK(first.variant.empty());
    CHECK(table.rows[1].program == "bf16[M, K] * int8[K, N] -> bf16[M, N]");
    CHECK(table.rows[1].variant == "wall clock");
    // the activations come in bf16 and a separate kernel quantises them
    CHECK(table.rows[2].program.find("Q : fp8[M, K] = X") != std::string::npos);
    CHECK(table.rows[2].variant == "graph");
    CHECK(table.rows[2].rounding_s == approx(0.5e-6));
}

TEST_CASE("elementwise operations have rows and columns") {
    const KernelTable table = kernels_of(elementwise +
                                         "h100_sxm,softmax,4096x64,fp16,1e-5,\nh100_sxm,gelu,262144,bf16,1e-5,\n"
                                         "h100_sxm,fp8_quant_static,2x3x64,bf16->fp8,1e-5,launch-inclusive\n"
                                         "h100_sxm,add,8x8,f32,1e-5,\nh100_sxm,mlp_act,8x8,bf16,1e-5,\n");
    REQUIRE(table.rows.size() == 5);
    CHECK(table.rows[4].program == "X : bf16[R, C]\nY : bf16[R, C]\nZ : bf16[R, C] = silu(X) * Y\n");
    CHECK(table.rows[0].program == "X : f16[R, C]\nZ : f16[R, C] = softmax[C](X)\n");
    CHECK(table.rows[0].sizes == DimSizes{{"R", 4096}, {"C", 64}});
    CHECK(table.rows[1].sizes == DimSizes{{"R", 1}, {"C", 262144}});
    CHECK(table.rows[2].program == "X : bf16[R, C]\nZ : fp8[R, C] = X\n");
    CHECK(table.rows[2].sizes == DimSizes{{"R", 6}, {"C", 64}});
    CHECK(table.rows[2].variant == "eager");
    CHECK(table.rows[3].program == "X : f32[R, C]\nY : f32[R, C]\nZ : f32[R, C] = X + Y\n");
    const KernelTable more = kernels_of(elementwise +
                                        "h100_sxm,act_fn,4x64,bf16,1e-5,\nh100_sxm,embedding,4x64,bf16,1e-5,\n"
                                        "h100_sxm,rotary_emb,4x64,bf16,1e-5,\nh100_sxm,act_fn,4x7,bf16,1e-5,\n");
    REQUIRE(more.rows.size() == 3);
    CHECK(more.skipped.front().reason == "the length of a row is not divisible by the number of operands");
    CHECK(more.rows[0].sizes == DimSizes{{"R", 4}, {"C", 32}});
    CHECK(more.rows[1].program == "X : bf16[V, C]\nids : int32[R]\nZ : bf16[R, C] = gather[V](X, ids)\n");
    CHECK(more.rows[1].sizes == DimSizes{{"R", 4}, {"C", 64}, {"V", 4}});
    CHECK(more.rows[2].program == "X : bf16[R, C]\nZ : bf16[R, C] = rope(X)\n");
}

TEST_CASE("attention has groups of heads, a window in decode, and latents") {
    const KernelTable table = kernels_of(attention +
                                         "h100_sxm,prefill,bf16,bf16,2,128,128,32,8,64,0,1e-3\n"
                                         "h100_sxm,decode,bf16,fp8,2,1,4096,32,8,64,1024,1e-3\n"
                                         "h100_sxm,mla_decode,bf16,bf16,2,1,4096,128,1,576,0,1e-3\n");
    REQUIRE(table.rows.size() == 3);
    CHECK(table.rows[0].operation == "attention_prefill");
    CHECK(table.rows[0].program.find("softmax[S](causal[T, S](Q * A))") != std::string::npos);
    CHECK(table.rows[0].sizes == DimSizes{{"B", 2}, {"T", 128}, {"S", 128}, {"K", 8}, {"G", 4}, {"H", 64}});
    CHECK(table.rows[1].operation == "attention_decode");
    CHECK(table.rows[1].dtype == "bf16, kv fp8");
    CHECK(table.rows[1].program.find("causal") == std::string::npos);
    // 1024 of 4096 places of a cache
    CHECK(table.rows[1].sizes == DimSizes{{"B", 2}, {"T", 1}, {"S", 1024}, {"K", 8}, {"G", 4}, {"H", 64}, {"C", 4096}});
    CHECK(table.rows[1].program.find("A : fp8[B, K, C, H]") != std::string::npos);
    CHECK(table.rows[1].program.find("O : bf16[B, K, G, T, H] = P * gather[C](V, W)") != std::string::npos);
    CHECK(table.rows[0].program.find("gather") == std::string::npos);
    CHECK(table.rows[2].operation == "mla_decode");
    CHECK(table.rows[2].sizes == DimSizes{{"B", 2}, {"T", 1}, {"S", 4096}, {"N", 128}, {"L", 512}, {"R", 64}});
}

TEST_CASE("a layer of experts has the load of its routing") {
    const KernelTable table = kernels_of(experts +
                                         "x,h100_sxm,bf16,4,64,32,2,8,1,2,balanced,1e-3,trtllm 1.3\n"
                                         "x,h100_sxm,bf16,4,64,32,2,8,4,1,power_law_1.2,1e-3,vllm 0.24\n"
                                         "x,h100_sxm,fp8_block,4,64,32,2,8,1,1,,1e-3,trtllm 1.3\n"
                                         "x,h100_sxm,w4a8_mxfp4_mxfp8,4,2688,1856,2,8,1,1,balanced,1e-3,trtllm 1.3\n");
    REQUIRE(table.rows.size() == 4);
    // 4 of 8 experts are on this rank, and 4 tokens chose each of them once
    const MeasuredKernel& fused = table.rows.front();
    CHECK(fused.operation == "experts");
    CHECK(fused.sizes == DimSizes{{"T", 4}, {"U", 4}, {"A", 2}, {"E", 4}, {"C", 1}, {"D", 64}, {"I", 32}});
    CHECK(fused.program.find("He : bf16[E, C, I] = silu(Xe *_D Wg) * (Xe *_D Wu)") != std::string::npos);
    // the function and the sum of this library are kernels over all choices; a quarter of the width
    CHECK(table.rows[1].sizes.at(1) == std::pair<std::string, std::int64_t>{"P", 8});
    CHECK(table.rows[1].sizes.at(6) == std::pair<std::string, std::int64_t>{"I", 8});
    CHECK(table.rows[1].program.find("Ha : bf16[P, I] = silu(Ga) * Ua") != std::string::npos);
    // block scales: quantised after the dispatch and after the function
    CHECK(table.rows[2].variant == "block scales");
    CHECK(table.rows[2].program.find("Qe : fp8[E, C, D] = Xe") != std::string::npos);
    CHECK(table.rows[2].program.find("Qh : fp8[E, C, I] = He") != std::string::npos);
    // experts of these sizes have no gate
    CHECK(table.rows[3].program.find("relu2(Xe *_D Wu)") != std::string::npos);
    CHECK(table.rows[3].variant == "ungated");
    CHECK(table.rows[0].variant.empty());
    CHECK(table.rows[3].program.find("Wu : mxfp4[E, D, I]") != std::string::npos);
}

TEST_CASE("some libraries also process choices of experts on other ranks") {
    const KernelTable table = kernels_of(experts +
                                         "x,l40s,bf16,8,64,32,2,8,1,2,balanced,1e-3,vllm 0.24\n"
                                         "x,l40s,bf16,8,64,32,2,8,1,1,balanced,1e-3,vllm 0.24\n"
                                         "x,l40s,w4a16_mxfp4,8,64,32,2,8,1,2,balanced,1e-3,vllm 0.24\n"
                                         "x,rtx_pro_6000_server,fp8_block,8,64,32,2,8,1,2,balanced,1e-3,trtllm 1.3\n"
                                         "x,h100_sxm,fp8_block,8,64,32,2,8,1,2,balanced,1e-3,trtllm 1.3\n");
    REQUIRE(table.rows.size() == 5);
    // 16 choices, of which half are on this rank: 4 experts with 2 rows each
    CHECK(table.rows[0].sizes.back() == std::pair<std::string, std::int64_t>{"O", 8});
    CHECK(table.rows[0].program.find("Uo : bf16[O, I] = expand[O,I](zero)") != std::string::npos);
    CHECK(table.rows[0].program.find("Yo : bf16[O, D] = expand[O,D](zero)") != std::string::npos);
    for (const std::size_t without : {std::size_t{1}, std::size_t{2}})
        CHECK(table.rows[without].program.find("zero") == std::string::npos);
    const auto rows_of_expert = [&](std::size_t row) { return table.rows[row].sizes[4].second; };
    CHECK(table.rows[3].sizes[4].first == "C");
    CHECK(rows_of_expert(3) == 4);
    CHECK(rows_of_expert(4) == 2);
}

TEST_CASE("rows that are incomplete or inexpressible in the notation are skipped with the reason") {
    const auto reason = [](const std::string& text) {
        const KernelTable table = kernels_of(text);
        CHECK(table.rows.empty());
        REQUIRE(table.skipped.size() == 1);
        return table.skipped.front().reason;
    };
    CHECK(reason(matmuls + "x,h100_sxm,bf17,bf16,1,32,64,2.5,\n") == "the dtype `bf17` is unknown");
    CHECK(reason(matmuls + "x,h100_sxm,bf16,bf16,1,32,,2.5,\n") == "k is empty");
    CHECK(reason(matmuls + "x,h100_sxm,bf16,bf16,1,32,64,,\n") == "the time is empty");
    CHECK(reason(matmuls + "x,,bf16,bf16,1,32,64,1,\n") == "the accelerator is empty");
    CHECK(reason(elementwise + "h100_sxm,fft,64,bf16,1,\n") == "the operation `fft` is unknown");
    for (const char* shape : {"64x", "x64", "64y64", "-1", "0x4", "4294967296x4294967296x4294967296x2"}) {
        CHECK(reason(elementwise + "h100_sxm,gelu," + shape + ",bf16,1,\n") ==
              "the shape is invalid: write it like 4096x64");
    }
    CHECK(reason(attention + "h100_sxm,prefill,bf16,bf16,2,256,128,32,8,64,0,1e-3\n") ==
          "more queries than keys (kv_len is less than q_len)");
    CHECK(reason(attention + "h100_sxm,prefill,bf16,bf16,2,128,128,32,8,64,64,1e-3\n") ==
          "a prefill longer than its window");
    CHECK(reason(attention + "h100_sxm,mla_prefill,bf16,bf16,2,128,128,128,1,576,0,1e-3\n")
              .starts_with("a latent prefill"));
    CHECK(reason(attention + "h100_sxm,decode,bf16,bf16,2,1,128,32,5,64,0,1e-3\n") ==
          "heads is not a multiple of kv_heads");
    const auto layer = [&](const char* sizes) { return reason(experts + "x,h100_sxm,bf16," + sizes + ",1e-3,\n"); };
    CHECK(layer("4,64,32,2,8,1,1,zipf") == "the routing `zipf` is unknown: balanced and power_law_1.2 are supported");
    CHECK(layer("4,64,32,2,8,1,1,power_law_x").starts_with("the routing"));
    CHECK(layer("4,64,32,2,8,3,1,balanced") == "inter is not a multiple of moe_tp");
    CHECK(layer("4,64,32,2,8,1,3,balanced").starts_with("no expert of the rank is chosen"));
    CHECK(layer("4,64,32,,8,1,1,balanced") == "topk is empty");
}

TEST_CASE("a value that is not a number is an error with its place") {
    const std::string text = matmuls + "x,h100_sxm,bf16,bf16,1,32,many,2.5,\n";
    auto reader = CsvReader::open(text, "t.csv");
    REQUIRE(reader);
    const auto table = read_kernel_table(*reader);
    REQUIRE_FALSE(table);
    CHECK(table.error().code == "bad_number");
    CHECK(table.error().place->line == 2);
    CHECK(table.error().place->column == 27);
}

TEST_CASE("tables of collectives are not tables of kernels") {
    CHECK_FALSE(is_kernel_table({"op", "n_devices", "bytes", "time_s", "accelerator"}));
    CHECK_FALSE(is_kernel_table({"m", "n", "k", "dtype_in", "dtype_out", "accelerator"}));
    CHECK(is_kernel_table({"m", "n", "k", "dtype_in", "dtype_out", "system", "time_ms"}));
}

TEST_CASE("libraries that are timed alone take operands that are narrow already") {
    const KernelTable table =
        kernels_of(matmuls +
                   "ROCm/aiter@e40 a.csv#L3,mi355x,fp8_block,bf16,1,32,64,2.5,lib=ck; best config of the tuner\n"
                   "AMD-AGI/Primus,mi355x,fp8,bf16,1,32,64,2.5,hipBLASLt bench NN; column major\n"
                   "ROCm/aiter@e40 a.csv#L3,mi355x,mxfp4,bf16,1,32,64,2.5,lib=triton; rotated inputs\n"
                   "aic:sglang/0.5,h100_sxm,fp8_block,bf16,1,32,64,2.5,\n");
    REQUIRE(table.rows.size() == 4);
    CHECK(table.rows[0].program == "fp8[M, K] * fp8[K, N] -> bf16[M, N]");
    CHECK(table.rows[0].software == "aiter");
    CHECK(table.rows[0].variant == "block scales");
    CHECK(table.rows[1].program == "fp8[M, K] * fp8[K, N] -> bf16[M, N]");
    CHECK(table.rows[1].software == "hipblaslt");
    CHECK(table.rows[2].program == "mxfp4[M, K] * mxfp4[K, N] -> bf16[M, N]");
    CHECK(table.rows[2].variant == "triton");
    CHECK(table.rows[0].source == "ROCm/aiter@e40 a.csv");
    CHECK(table.rows[3].program.find("Q : fp8[M, K] = X") != std::string::npos);
}

TEST_CASE("products per group, gated units and passes of f32 on TPUs") {
    const std::string groups = "source,accelerator,dtype_in,dtype_out,m,n,k,groups,time_us,notes\n";
    const KernelTable table =
        kernels_of(groups +
                   "openxla/tokamax@7,TPU-v6e,bf16,bf16,4096,512,1024,8,9,impl=pallas_mosaic_tpu_ragged_dot; ragged\n"
                   "openxla/tokamax@7,TPU-v6e,bf16,bf16,512,1024,4096,8,9,impl=ragged_dot; weight gradient\n"
                   "openxla/tokamax@7,TPU-v6e,bf16,bf16,512,1024,4096,8,9,impl=ragged_dot; groups skewed\n"
                   "openxla/tokamax@7,TPU-v6e,bf16,bf16,4096,512,1024,8,9,impl=pallas_mosaic_tpu_v2_ragged_dot; "
                   "preferred=bfloat16\n"
                   "openxla/tokamax@7,TPU-v6e,bf16,bf16,4097,1024,512,8,9,impl=ragged_dot\n"
                   "x,TPU-v6e,f32,f32,2,32,64,16,9,batched\n");
    REQUIRE(table.rows.size() == 4);
    CHECK(table.rows[0].software == "tokamax");
    CHECK(table.rows[0].variant.empty());
    CHECK(table.rows[0].program.find("W : bf16[G, K, N]") != std::string::npos);
    CHECK(table.rows[0].operation == "grouped_matmul");
    CHECK(table.rows[0].program.find("Y : bf16[G, C, N] = Xe *_K W") != std::string::npos);
    CHECK(table.rows[0].sizes == DimSizes{{"R", 4096}, {"A", 1}, {"G", 8}, {"C", 512}, {"K", 1024}, {"N", 512}});
    // the rows of each group are summed: k counts those of all groups
    CHECK(table.rows[1].operation == "grouped_gradient");
    CHECK(table.rows[1].software == "xla");
    CHECK(table.rows[1].variant == "weight gradient");
    CHECK(table.rows[1].program.find("W : bf16[G, M, N] = Xe *_C Ye") != std::string::npos);
    CHECK(table.rows[1].sizes == DimSizes{{"R", 4096}, {"A", 1}, {"G", 8}, {"C", 512}, {"M", 512}, {"N", 1024}});
    // only gradients of Tokamax's products name the dtype of their result: the matrix is read as it lies
    CHECK(table.rows[2].operation == "grouped_matmul");
    CHECK(table.rows[2].variant == "v2, transposed");
    CHECK(table.rows[2].program.find("W : bf16[G, N, K]") != std::string::npos);
    CHECK(table.rows[3].operation == "batched_matmul");
    CHECK(table.rows[3].sizes == DimSizes{{"G", 16}, {"M", 2}, {"N", 32}, {"K", 64}});
    CHECK(table.rows[3].program.find("X * W using bf16") != std::string::npos);
    REQUIRE(table.skipped.size() == 2);
    CHECK(table.skipped[0].reason.find("skewed") != std::string::npos);
    CHECK(table.skipped[1].reason == "the number of rows is not divisible by the number of groups");
    const KernelTable gated = kernels_of(
        matmuls +
        "openxla/tokamax@7,TPU-v5p,bf16,bf16,64,1024,128,9,impl=gated_linear_unit; fused gated unit: n=2x512\n"
        "openxla/tokamax@7,TPU-v5p,bf16,bf16,64,1023,128,9,impl=gated_linear_unit; fused gated unit: n=2x\n");
    REQUIRE(gated.rows.size() == 1);
    CHECK(gated.rows[0].operation == "gated_unit");
    CHECK(gated.rows[0].variant == "gated");
    CHECK(gated.rows[0].sizes == DimSizes{{"M", 64}, {"N", 512}, {"K", 128}});
    CHECK(gated.rows[0].program.find("silu(X *_K Wg) * (X *_K Wu)") != std::string::npos);
}

TEST_CASE("attention without a mask, backwards, with a bias and with values of another width") {
    const std::string columns =
        "source,accelerator,phase,dtype,batch,q_len,kv_len,heads,kv_heads,head_dim,time_s,notes\n";
    const KernelTable table = kernels_of(
        columns +
        "openxla/tokamax@7,TPU-v6e,prefill_noncausal,fp16,2,128,256,32,8,64,1e-3,impl=dot_product_attention\n"
        "openxla/tokamax@7,TPU-v6e,backward,bf16,2,128,128,32,8,64,1e-3,impl=pallas_mosaic_tpu_flash_attention_vjp\n"
        "openxla/tokamax@7,TPU-v6e,backward_noncausal,bf16,2,128,128,8,8,64,1e-3,v_head_dim=32\n"
        "openxla/tokamax@7,TPU-v6e,prefill_noncausal,bf16,2,128,128,8,8,64,1e-3,\"bool_mask=bool[2,1,1,128]; "
        "bias=bf16[1,8,128,128]\"\n"
        "openxla/tokamax@7,TPU-v6e,prefill,bf16,2,256,128,32,8,64,1e-3,\n");
    REQUIRE(table.rows.size() == 4);
    CHECK(table.rows[0].operation == "attention_noncausal");
    CHECK(table.rows[0].program.find("causal") == std::string::npos);
    // at JAX's default precision f16 is multiplied as bf16, in one pass
    CHECK(table.rows[0].program.starts_with("Q : bf16["));
    CHECK(table.rows[1].operation == "attention_backward");
    CHECK(table.rows[1].variant == "backward");
    CHECK(table.rows[1].software == "tokamax");
    CHECK(table.rows[1].program.find("dP : bf16[B, K, G, T, S] = causal[T, S](dO *_H V)") != std::string::npos);
    CHECK(table.rows[2].program.find("dV : bf16[B, K, S, J] = dO *_{T, G} P") != std::string::npos);
    CHECK(table.rows[2].program.find("causal") == std::string::npos);
    CHECK(table.rows[2].sizes.back() == std::pair<std::string, std::int64_t>{"J", 32});
    CHECK(table.rows[3].variant == "biased");
    CHECK(table.rows[3].program.find("softmax[S](where(Mask, (Q *_H A) + Bias, Floor))") != std::string::npos);
    REQUIRE(table.skipped.size() == 1);
    CHECK(table.skipped[0].reason == "more queries than keys (kv_len is less than q_len)");
}

TEST_CASE("a language model's head with its loss, and its derivative") {
    const KernelTable table = kernels_of(elementwise +
                                         "tpu-v6e,linear_softmax_xent,\"m=64,k=128,n=1000\",bf16,1e-3,\n"
                                         "tpu-v6e,linear_softmax_xent_backward,\"m=64,k=128,n=1000\",fp32,1e-3,\n"
                                         "tpu-v6e,linear_softmax_xent,64x128,bf16,1e-3,\n"
                                         "tpu-v6e,model_op:rope,x,bf16,1e-3,\n"
                                         "tpu-v6e,copy,64x128,bf16,1e-3,\n");
    REQUIRE(table.rows.size() == 3);
    CHECK(table.rows[0].sizes == DimSizes{{"M", 64}, {"N", 1000}, {"K", 128}});
    CHECK(table.rows[0].variant == "with loss");
    CHECK(table.rows[0].program.find("Lse : f32[M] = logsumexp[N](L)") != std::string::npos);
    CHECK(table.rows[1].operation == "head_backward");
    CHECK(table.rows[1].program.find("L : f32[M, N] = X *_K W using bf16") != std::string::npos);
    CHECK(table.rows[1].program.find("dW : f32[K, N] = dL *_M X") != std::string::npos);
    CHECK(table.rows[2].program == "X : bf16[R, C]\nZ : bf16[R, C] = copy(X)\n");
    REQUIRE(table.skipped.size() == 2);
    CHECK(table.skipped[0].reason == "the shape is invalid: write it like m=1024,n=4096,k=512");
}

TEST_CASE("experts that a tuner timed") {
    const std::string tuned =
        "source,accelerator,dtype,tokens,hidden,inter,topk,experts,moe_tp,moe_ep,routing,time_s,notes\n";
    const KernelTable table = kernels_of(
        tuned +
        // 2 * 3 * 64 * 2 * 128 * 32 are 3.146 MFLOP: 0.31 TFLOP/s in 10 us
        "ROCm/aiter@e,mi355x,fp8/fp4,64,128,32,2,8,,,tuner (random top-k scores),1e-5,q_type=per_1x32 tflops=0.31\n"
        "ROCm/aiter@e,mi355x,fp8,64,128,32,2,8,,,tuner (random),1e-5,q_type=per_1x128 run_1stage=1 tflops=0.31\n"
        "ROCm/aiter@e,mi355x,fp8,64,128,32,2,8,,,tuner (random),1e-5,q_type=per_1x128 run_1stage=1 tflops=0.15\n");
    REQUIRE(table.rows.size() == 2);
    CHECK(table.rows[0].sizes == DimSizes{{"T", 64}, {"A", 2}, {"E", 8}, {"C", 16}, {"D", 128}, {"I", 32}});
    CHECK(table.rows[0].program.find("param Wd : mxfp4[E, I, D]") != std::string::npos);
    CHECK(table.rows[0].program.find("Ha : mxfp8[E, C, I]\nfuse {") != std::string::npos);
    CHECK(table.rows[1].variant == "block scales, one kernel");
    CHECK(table.rows[1].program.find("He : fp8[E, C, I]") != std::string::npos);
    CHECK(table.rows[1].program.find("Ha") == std::string::npos);
    // a tuner repeats the time of the most tokens that it tried
    REQUIRE(table.skipped.size() == 1);
    CHECK(table.skipped[0].reason.find("another number of tokens") != std::string::npos);
}
