#include "program/weight_arithmetic.hpp"

#include <doctest/doctest.h>

#include "notation/notation.hpp"

using namespace roofline::core;

TEST_CASE("matmuls with parameters and their gradients are computed in another dtype, others are not") {
    const auto forward = parse_program(
        "X : bf16[B, D]\nparam W : bf16[D, F]\nY : bf16[B, F] = gelu(X * W)\nZ : bf16[B, B2]\n"
        "Out : bf16[B2, F] = Z * Y\n",
        "");
    REQUIRE(forward);
    auto step = training_step(*forward);
    REQUIRE(step);
    compute_weights_in(*step, *find_dtype("fp8_e4m3"));
    const std::string text = print(step->program);
    std::size_t changed = 0;
    for (std::size_t at = text.find(" using fp8"); at != std::string::npos; at = text.find(" using fp8", at + 1)) {
        ++changed;
    }
    // Forward, the gradient of X, the gradient of W; not the contractions of Z and Y.
    CHECK(changed == 3);
    CHECK(parse_program(text, ""));
}

TEST_CASE("embedding, head and router are computed in the stored dtype") {
    const auto forward = parse_program(
        "X : bf16[B, D]\npart router { param R : bf16[D, G] }\nH : bf16[B, G] = gelu(X * R)\n"
        "param W : bf16[G, F]\nY : bf16[B, F] = H * W\npart head { param V : bf16[F, E] }\nOut : bf16[B, E] = Y * V\n",
        "");
    REQUIRE_MESSAGE(forward, to_text(forward.error()));
    auto step = training_step(*forward);
    REQUIRE(step);
    compute_weights_in(*step, *find_dtype("fp8_e4m3"));
    const std::string text = print(step->program);
    std::size_t changed = 0;
    for (std::size_t at = text.find(" using fp8"); at != std::string::npos; at = text.find(" using fp8", at + 1)) {
        ++changed;
    }
    CHECK(changed == 3);  // Y, the gradient of W and that of H
}
