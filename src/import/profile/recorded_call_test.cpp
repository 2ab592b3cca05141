#include "import/profile/recorded_call.hpp"

#include <doctest/doctest.h>

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
    CHECK(result_of({"aten::_scaled_dot_product_flash_attention", "[[2,8,16,64],[2,2,16,64],[2,2,16,32],[],[]]",
                     R"(["c10::Half","c10::Half","c10::Half","Scalar","Scalar"])", ""}) == "f16[2,8,16,32]");
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
