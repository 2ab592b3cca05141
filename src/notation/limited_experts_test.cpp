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

constexpr std::string_view sizes_and_input = "B=3, T=8, D=4, E=4, A=2, C=12, F=16";
constexpr std::string_view router =
    "\nX : bf16[B, T, D]\nrepeat 2 {\nparam Wr : bf16[D, E]\nScores : f32[B, T, E] = softmax[E](X *_D Wr)\n"
    "Chosen : int32[B, T, A]\n";
constexpr std::string_view matrices = "param Wu : bf16[E, D, F]\nparam Wd : bf16[E, F, D]\n";

std::string layer_of_experts() {
    return std::string(sizes_and_input) + std::string(router) + "Share : bf16[B, T, A]\n" + std::string(matrices) +
           "Xe : bf16[E, C, D] = dispatch[E,C](X, Chosen)\nHe : bf16[E, C, F] = relu(Xe *_D Wu)\n"
           "Ye : bf16[E, C, D] = He *_F Wd\nX : bf16[B, T, D] = X + combine[E,C,A](Ye, Share)\n}\n";
}

}  // namespace

TEST_CASE("experts of limited capacity have places per sequence, which masks multiply") {
    Program program = limited_program(layer_of_experts());
    limit_experts(program, 1.25);
    // 1.25 * 8 tokens * 2 choices / 4 experts
    CHECK(program.sizes.at("Places") == 5);
    const std::string by_hand = std::string(sizes_and_input) + ", Places=5" + std::string(router) +
                                "Share : bf16[B, T, A]\n" + std::string(matrices) +
                                "Xe : bf16[B, E, Places, D] = X *_T (Places: bf16[B, T, E, Places])\n"
                                "He : bf16[B, E, Places, F] = relu(Xe *_D Wu)\nYe : bf16[B, E, Places, D] = He *_F Wd\n"
                                "Weights : bf16[B, T, E, Places] = Places * Scores\n"
                                "X : bf16[B, T, D] = X + (Ye *_{E, Places} Weights)\n}\n";
    CHECK(print(program) == print(limited_program(by_hand)));
    // 1.2 * 4 tokens are 4.8 places
    Program other = limited_program(layer_of_experts());
    limit_experts(other, 1.2);
    CHECK(other.sizes.at("Places") == 5);
}

TEST_CASE("shares that no router computes become those of all experts") {
    std::string text = layer_of_experts();
    const std::string scores = " = softmax[E](X *_D Wr)";
    text.erase(text.find(scores), scores.size());
    Program program = limited_program(text);
    limit_experts(program, 1.25);
    CHECK(print(program).find("Weights : bf16[B, T, E, Places] = Places * Share") != std::string::npos);
}

TEST_CASE("a program whose tokens choose no experts stays as it is") {
    const Program plain =
        limited_program("B=3, D=4, F=4\nX : bf16[B, D]\nparam W : bf16[D, F]\nY : bf16[B, F] = X *_D W\n");
    Program same = plain;
    limit_experts(same, 1.25);
    CHECK(same == plain);
}
