#include "program/limited_experts.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

Program limited_program(const std::string& text) {
    auto program = parse_program(text, "");
    REQUIRE_MESSAGE(program.has_value(), to_text(program.error()));
    return *program;
}

constexpr std::string_view layer_of_experts =
    "B=3, T=8, D=4, E=4, A=2, C=12, F=16\nX : bf16[B, T, D]\nrepeat 2 {\n"
    "Scores : f32[B, T, E] = softmax[E](X *_D (param Wr: bf16[D, E]))\nChosen : int32[B, T, A]\nShare : bf16[B, T, A]\n"
    "param Wu : bf16[E, D, F]\nparam Wd : bf16[E, F, D]\nXe : bf16[E, C, D] = dispatch[E,C](X, Chosen)\n"
    "He : bf16[E, C, F] = relu(Xe *_D Wu)\nYe : bf16[E, C, D] = He *_F Wd\n"
    "X : bf16[B, T, D] = X + combine[E,C,A](Ye, Share)\n}\n";

}  // namespace

TEST_CASE("experts of limited capacity have places per sequence, which masks multiply") {
    Program program = limited_program(std::string(layer_of_experts));
    limit_experts(program, 1.25);
    // 1.25 * 8 tokens * 2 choices / 4 experts
    CHECK(program.sizes.at("Places") == 5);
    const std::string text = print(program);
    CAPTURE(text);
    for (const char* const line :
         {"Xe : bf16[B, E, Places, D] = X *_T ", "He : bf16[B, E, Places, F] = relu(Xe *_D Wu)",
          "Ye : bf16[B, E, Places, D] = He *_F Wd", "Weights : bf16[B, T, E, Places] = ", "Share : bf16[B, T, E]"}) {
        CAPTURE(line);
        CHECK(text.find(line) != std::string::npos);
    }
    CHECK(text.find("dispatch") == std::string::npos);
    CHECK(text.find("combine") == std::string::npos);
    // what is printed says the same
    CHECK(print(limited_program(text)) == text);
    // 1.2 * 4 tokens are 4.8 places
    Program other = limited_program(std::string(layer_of_experts));
    limit_experts(other, 1.2);
    CHECK(other.sizes.at("Places") == 5);
    limit_experts(other, 1.2);  // nothing is dispatched any more
    CHECK(other.sizes.at("Places") == 5);
}

TEST_CASE("a program whose tokens choose no experts stays as it is") {
    const Program plain = limited_program("B=3, D=4\nX : bf16[B, D]\nparam W : bf16[D, D]\nY : bf16[B, D] = X *_D W\n");
    Program same = plain;
    limit_experts(same, 1.25);
    CHECK(same == plain);
}
