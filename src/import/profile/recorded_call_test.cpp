#include "import/profile/recorded_call.hpp"

#include <doctest/doctest.h>

#include "import/profile/kernel_class.hpp"

using namespace roofline::core;

namespace {

/// The shape of the result, or the code of the error.
std::string result_of(const RecordedCall& call, std::size_t part = 0) {
    const auto graph = graph_of(call);
    if (!graph) return graph.error().code;
    const FxType& type = graph->nodes[graph->nodes.size() - 2].type;
    return shape_text(type.kind == FxType::Kind::list ? type.items.at(part).shape : type.shape);
}

}  // namespace

TEST_CASE("recorded calls: results follow from the shapes of the inputs") {
    CHECK(result_of({"aten::mm", "[[2,3],[3,4]]", R"(["float","float"])", ""}) == "f32[2,4]");
    CHECK(result_of({"aten::addmm", "[[4],[2,3],[3,4],[],[]]",
                     R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","Scalar","Scalar"])", ""}) == "bf16[2,4]");
    CHECK(result_of({"aten::linear", "[[8,2,3],[5,3],[5]]", R"(["c10::Half","c10::Half","c10::Half"])", ""}) ==
          "f16[8,2,5]");
    CHECK(result_of({"aten::matmul", "[[7,2,3],[3,4]]", R"(["float","float"])", ""}) == "f32[7,2,4]");
    CHECK(result_of({"aten::add", "[[7,1],[3],[]]", R"(["c10::BFloat16","float","Scalar"])", ""}) == "f32[7,3]");
    CHECK(result_of({"aten::add_", "[[7,3],[3],[]]", R"(["c10::BFloat16","float","Scalar"])", ""}) == "bf16[7,3]");
    CHECK(result_of({"aten::gt", "[[7,3],[]]", R"(["float","Scalar"])", ""}) == "pred[7,3]");
    CHECK(result_of({"aten::embedding", "[[100,16],[2,5],[],[],[]]", R"(["float","long int","Scalar","",""])", ""}) ==
          "f32[2,5,16]");
    RecordedCall attention{"aten::_scaled_dot_product_flash_attention", "[[2,8,16,64],[2,2,16,64],[2,2,16,32],[],[]]",
                           R"(["c10::Half","c10::Half","c10::Half","Scalar","Scalar"])", R"(["","","","0.","True"])"};
    CHECK(result_of(attention) == "f16[2,8,16,32]");
    attention.values = "";  // whether it is causal decides its FLOPs
    CHECK(result_of(attention) == "no_values");
    CHECK(result_of(
              {"aten::_foreach_add_", "[[[3,4],[3]],[[3,4],[3]],[]]", R"(["TensorList","TensorList","Scalar"])", ""},
              1) == "f32[3]");
}

TEST_CASE("recorded calls: values of scalar inputs decide shapes where they were recorded") {
    // (64 + 2 3 - 7) / 2 + 1 = 32
    const RecordedCall convolution{"aten::cudnn_convolution", "[[8,3,64,64],[16,3,7,7],[],[],[],[],[],[],[]]",
                                   R"(["float","float","ScalarList","ScalarList","ScalarList","Scalar","","",""])",
                                   R"(["","","[3, 3]","[2, 2]","[1, 1]","1","False","False","True"])"};
    CHECK(result_of(convolution) == "f32[8,16,32,32]");
    RecordedCall without = convolution;
    without.values = "";
    CHECK(result_of(without) == "no_values");
    CHECK(result_of({"aten::sum", "[[5,128],[],[],[]]", R"(["float","ScalarList","Scalar",""])",
                     R"(["","[0]","True",""])"}) == "f32[1,128]");
    CHECK(result_of({"aten::sum", "[[5,128],[],[],[]]", R"(["float","ScalarList","Scalar",""])", ""}) == "f32[]");
    CHECK(result_of({"aten::cat", "[[[2,3],[2,5]],[]]", R"(["TensorList","Scalar"])", R"(["","-1"])"}) == "f32[2,8]");
    CHECK(result_of({"aten::topk", "[[4,100],[],[],[],[]]", R"(["float","Scalar","Scalar","Scalar","Scalar"])",
                     R"(["","7","-1","True","True"])"},
                    1) == "s64[4,7]");
}

TEST_CASE("recorded calls: only the gradients that are asked for are results") {
    RecordedCall gradients{
        "aten::convolution_backward", "[[8,16,32,32],[8,3,64,64],[16,3,7,7],[],[],[],[],[],[],[],[]]",
        R"(["float","float","float","ScalarList","ScalarList","ScalarList","ScalarList","","ScalarList","",""])",
        R"(["","","","[16]","[2, 2]","[3, 3]","[1, 1]","False","[0, 0]","1","[True, True, True]"])"};
    CHECK(result_of(gradients, 0) == "f32[8,3,64,64]");
    CHECK(result_of(gradients, 1) == "f32[16,3,7,7]");
    CHECK(result_of(gradients, 2) == "f32[16]");
    // of a first layer
    gradients.values = R"(["","","","[0]","[2, 2]","[3, 3]","[1, 1]","False","[0, 0]","1","[False, True, False]"])";
    const auto graph = graph_of(gradients);
    REQUIRE(graph);
    const FxType& type = graph->nodes[graph->nodes.size() - 2].type;
    REQUIRE(type.items.size() == 3);
    CHECK(type.items[0].kind == FxType::Kind::none);
    CHECK(shape_text(type.items[1].shape) == "f32[16,3,7,7]");
    CHECK(type.items[2].kind == FxType::Kind::none);
}

TEST_CASE("recorded calls: dtypes of results that are not those of the inputs") {
    const std::string_view shapes = "[[32,100],[],[]]";
    const std::string_view types = R"(["c10::Half","Scalar","Scalar"])";
    CHECK(result_of({"aten::_log_softmax", shapes, types, R"(["","1","True"])"}) == "f32[32,100]");
    CHECK(result_of({"aten::_softmax", shapes, types, R"(["","1","False"])"}) == "f16[32,100]");
    const std::string_view pair = R"(["float","float","Scalar"])";
    CHECK(result_of({"aten::mse_loss", "[[4,5],[4,5],[]]", pair, R"(["","","0"])"}) == "f32[4,5]");
    CHECK(result_of({"aten::mse_loss", "[[4,5],[4,5],[]]", pair, R"(["","","1"])"}) == "f32[]");
    // lists have no dtype of their own: their kernels do
    RecordedCall listed{"aten::cat", "[[[2,3],[2,5]],[]]", R"(["TensorList","Scalar"])", R"(["","-1"])"};
    CHECK(result_of(listed) == "f32[2,8]");
    listed.listed = listed_type("CatArrayBatchedCopy_aligned16_contig<at::native::OpaqueType<2u>, unsigned int, 2>");
    CHECK(result_of(listed) == "bf16[2,8]");
    listed.listed = listed_type("multi_tensor_apply_kernel<TensorListMetadata<2>, Functor<c10::Half, 2, 2, 0>>");
    CHECK(result_of(listed) == "f16[2,8]");
    CHECK(listed_type("multi_tensor_apply_kernel<TensorListMetadata<2>, Functor<float, 2, 2, 0>>").empty());
}

// The lists are those that PyTorch 2.15 recorded, with two tensors.
TEST_CASE("recorded calls: fused optimizers return what they update") {
    const std::string_view shapes =
        "[[[4,5],[7]],[[4,5],[7]],[[4,5],[7]],[[4,5],[7]],[],[[],[]],[],[],[],[],[],[],[],[],[]]";
    const std::string_view types =
        R"(["TensorList","TensorList","TensorList","TensorList","TensorList","TensorList","Scalar","Scalar","Scalar",)"
        R"("Scalar","Scalar","Scalar","Scalar","",""])";
    const std::string_view values = R"(["","","","","","","0.1","0.9","0.99","0.1","1e-08","False","False","",""])";
    const auto adam = graph_of({"aten::_fused_adamw_", shapes, types, values});
    REQUIRE(adam);
    const FxType& type = adam->nodes[adam->nodes.size() - 2].type;
    REQUIRE(type.items.size() == 3);  // parameters, means and mean squares
    REQUIRE(type.items[2].items.size() == 2);
    CHECK(shape_text(type.items[2].items[1].shape) == "f32[7]");
    // amsgrad keeps the largest mean squares, too
    const auto amsgrad =
        graph_of({"aten::_fused_adamw_", "[[[4,5]],[[4,5]],[[4,5]],[[4,5]],[[4,5]],[[]],[],[],[],[],[],[],[],[],[]]",
                  types, values});
    REQUIRE(amsgrad);
    CHECK(amsgrad->nodes[amsgrad->nodes.size() - 2].type.items.size() == 4);
    CHECK(result_of({"aten::_fused_adamw_", "[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]", types, values}) ==
          "no_shapes");  // of more than 30 tensors
    CHECK(result_of({"aten::_fused_sgd_", "[[[4,5]],[[4,5]],[],[],[],[],[],[],[],[],[],[]]",
                     R"(["TensorList","TensorList","TensorList","Scalar","Scalar","Scalar","Scalar","Scalar","Scalar",)"
                     R"("Scalar","",""])",
                     R"(["","","","0","0","0.1","0","False","False","False","",""])"}) != "bad_inputs");
    CHECK(result_of({"aten::_foreach_norm", "[[[4,5],[7]],[],[]]", R"(["TensorList","Scalar",""])",
                     R"(["","2",""])"}) == "f32[]");
}

TEST_CASE("recorded calls: attention of the kernels' own operations has heads before rows, as the others") {
    // [batch, length, heads, size]
    const std::string_view flash = "[[2,16,8,64],[2,16,4,64],[2,16,4,64],[],[],[],[],[],[],[]]";
    const std::string_view types =
        R"(["c10::Half","c10::Half","c10::Half","","","Scalar","Scalar","Scalar","Scalar","Scalar"])";
    const std::string_view values = R"(["","","","","","16","16","0.","True","False"])";
    const auto forward = graph_of({"aten::_flash_attention_forward", flash, types, values});
    REQUIRE(forward);
    const FxNode& call = forward->nodes[forward->nodes.size() - 2];
    CHECK(call.target == "aten._scaled_dot_product_flash_attention");
    CHECK(shape_text(call.type.items.at(0).shape) == "f16[2,8,16,64]");
    REQUIRE(call.args.size() == 5);
    CHECK(call.args[4].number == 1);  // is_causal
    CHECK(
        result_of({"aten::_flash_attention_forward", "[[32,8,64],[32,4,64],[32,4,64],[3],[3],[],[],[],[],[]]",
                   R"(["c10::Half","c10::Half","c10::Half","int","int","Scalar","Scalar","Scalar","Scalar","Scalar"])",
                   values}) == "no_lengths");
    CHECK(result_of({"flash_attn::_flash_attn_forward", "[[2,16,8,64],[2,16,4,64],[2,16,4,64],[],[],[]]",
                     R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","Scalar","Scalar","Scalar"])",
                     R"(["","","","0.","0.125","True"])"}) == "bf16[2,8,16,64]");
    // flash_attn's windows: 7 keys to the left and the query itself; to the right it has none, or is not causal
    RecordedCall windowed{"flash_attn::_flash_attn_forward", "[[2,16,8,64],[2,16,4,64],[2,16,4,64],[],[],[],[],[]]",
                          R"(["c10::Half","c10::Half","c10::Half","Scalar","Scalar","Scalar","Scalar","Scalar"])",
                          R"(["","","","0.","0.125","True","7","0"])"};
    const auto local = graph_of(windowed);
    REQUIRE(local);
    const FxNode& banded = local->nodes[local->nodes.size() - 2];
    REQUIRE(banded.kwargs.size() == 1);
    CHECK(banded.kwargs[0].first == "window");
    CHECK(banded.kwargs[0].second.number == 8);
    windowed.values = R"(["","","","0.","0.125","False","7","7"])";
    CHECK(result_of(windowed) == "window");
    windowed.values = R"(["","","","0.","0.125","True","-1","-1"])";
    CHECK(result_of(windowed) == "f16[2,8,16,64]");
    // of cuDNN heads come first already
    CHECK(result_of({"aten::_cudnn_attention_forward", "[[2,8,16,64],[2,8,16,64],[2,8,16,64],[],[],[],[],[],[],[],[]]",
                     R"(["c10::Half","c10::Half","c10::Half","","","","Scalar","Scalar","Scalar","Scalar","Scalar"])",
                     R"(["","","","","","","16","16","True","0.","True"])"}) == "f16[2,8,16,64]");
    const auto backward = graph_of(
        {"aten::_efficient_attention_backward",
         "[[2,16,8,64],[2,16,8,64],[2,16,8,64],[2,16,8,64],[],[2,16,8,64],[],[],[],[],[2,8,32],[],[],[],[],[]]",
         R"(["float","float","float","float","","float","","","Scalar","Scalar","float","Scalar","","","Scalar","Scalar"])",
         R"(["","","","","","","","","16","16","","0.","","","1","False"])"});
    REQUIRE(backward);
    const FxNode& gradient = backward->nodes[backward->nodes.size() - 2];
    REQUIRE(gradient.args.size() == 12);
    CHECK(gradient.args[11].number == 1);  // custom_mask_type 1 is causal
    CHECK(shape_text(gradient.type.items.at(1).shape) == "f32[2,8,16,64]");
}

// index_put_(x, (i,), v), as PyTorch 2.15 records it: the list of indices has neither shapes nor a type.
TEST_CASE("recorded calls: the values of index_put tell how many indices there are") {
    const auto put = graph_of({"aten::_index_put_impl_", "[[100,16],[],[3,5,16],[],[]]",
                               R"(["float","","float","Scalar","Scalar"])", R"(["","","","True","False"])"});
    REQUIRE(put);
    const FxNode& call = put->nodes[put->nodes.size() - 2];
    CHECK(call.target == "aten.index_put");
    REQUIRE(call.args[1].items.size() == 1);
    CHECK(shape_text(put->nodes[call.args[1].items[0].node].type.shape) == "s64[3,5]");
    // one row of values is put at each of the indices, which may be many
    CHECK(result_of({"aten::_index_put_impl_", "[[100,16],[],[1,16],[],[]]",
                     R"(["float","","float","Scalar","Scalar"])", R"(["","","","True","False"])"}) == "no_shapes");
    CHECK(result_of({"aten::_to_copy", "[[8,16],[],[],[],[],[],[]]", R"(["float","Scalar","","","","Scalar",""])",
                     R"(["","15","","","","False",""])"}) == "bf16[8,16]");
    CHECK(result_of({"aten::_index_put_impl_", "[[100,16],[],[],[],[]]", R"(["float","","float","Scalar","Scalar"])",
                     R"(["","","","True","False"])"}) == "no_shapes");
    CHECK(result_of(
              {"aten::native_dropout", "[[100,16],[],[]]", R"(["float","Scalar","Scalar"])", R"(["","0.1","True"])"},
              1) == "pred[100,16]");
}

TEST_CASE("kernels of convolutions and their gradients say that they multiply TF32") {
    CHECK(multiplies_tf32("cutlass_80_tensorop_s1688gemm_128x128_32x5_tn_align4"));
    CHECK(multiplies_tf32("cutlass_tensorop_s1688wgrad_optimized_256x128_16x3_nhwc_align4"));
    CHECK(multiplies_tf32("sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32"));
    CHECK_FALSE(multiplies_tf32("ampere_sgemm_128x64_nn"));
}

TEST_CASE("recorded calls: what is missing is said") {
    CHECK(result_of({"aten::mm", "", "", ""}) == "no_shapes");
    CHECK(result_of({"aten::_foreach_add_", "[[],[],[]]", R"(["TensorList","TensorList","Scalar"])", ""}) ==
          "no_shapes");
    CHECK(result_of({"aten::mm", "[[2,3],[4,4]]", R"(["float","float"])", ""}) == "bad_inputs");
    CHECK(result_of({"aten::mm", "[[2,3],[3,4]]", R"(["unheard_of","float"])", ""}) == "no_types");
    CHECK(result_of({"my::mm", "[[2,3],[3,4]]", R"(["float","float"])", ""}) == "no_rule");
    CHECK(result_of({"aten::unheard_of", "[[2,3]]", R"(["float"])", ""}) == "no_rule");
    CHECK(result_of({"aten::mm", "[[2,3],[3", "", ""}) == "cut_off");
    CHECK(result_of({"aten::mm", "[[9223372036854775807,9223372036854775807],[3,4]]", R"(["float","float"])", ""}) ==
          "no_types");
}
