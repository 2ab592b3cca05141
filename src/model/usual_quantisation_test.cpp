// Tests of the checkpoints that servers use, with the published sizes of Llama 3.1 8B and Mixtral 8x7B.
#include <doctest/doctest.h>

#include "model/models_test.hpp"
#include "model/weights.hpp"

using namespace roofline::core;

TEST_CASE("checkpoints in 8 bits have all matrices but the embedding and the head in them") {
    const auto eight = usual_quantisation({}, Dtype::fp8, false);
    REQUIRE(eight);
    const auto bytes = weight_bytes(model_named("llama-3.1-8b", 1), {}, eight);
    REQUIRE(bytes);
    // 32 layers: queries and output of 4096 x 4096, keys and values of 4096 x 1024, three MLP matrices of 4096 x 14336;
    // each matrix has a scale of four bytes
    const double matrices = 32 * (2 * 4096.0 * 4096 + 2 * 4096.0 * 1024 + 3 * 4096.0 * 14336);
    constexpr double params = 8'030'261'248;
    CHECK(bytes->total.to_double() == 2 * (params - matrices) + matrices + 32 * 7 * 4);
    CHECK_FALSE(usual_quantisation({}, Dtype::bf16, false));
}

TEST_CASE("checkpoints in 4 bits of models with experts leave out attention") {
    const auto four = weight_bytes(model_named("mixtral-8x7b", 1), {}, usual_quantisation({}, Dtype::nvfp4, true));
    REQUIRE(four);
    CHECK(four->by_format.at("nvfp4").params.to_double() == 32 * 8 * 3 * 4096.0 * 14336);
}

TEST_CASE("a model's own quantisation is taken if it has as many bits") {
    Quantisation own;
    own.method = "mxfp4";
    own.rules = {{{}, {"mxfp4", 4, 8, 32, 1}}};
    CHECK(usual_quantisation(own, Dtype::fp4, true)->method == "mxfp4");
    CHECK(usual_quantisation(own, Dtype::fp8, true)->method == "fp8");
}
