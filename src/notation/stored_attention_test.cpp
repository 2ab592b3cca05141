#include "program/stored_attention.hpp"

#include <doctest/doctest.h>

#include <string>

#include "base/result.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

constexpr std::string_view attention_operands =
    "B=2, K=3, T=16, S=16, H=8, W=4\nQ : bf16[B, T, K, H]\nKc : bf16[B, S, K, H]\nVc : bf16[B, S, K, H]\n";
constexpr std::string_view behind_attention =
    "fuse {\nU : bf16[B, T, K, H] = relu(O)\nV : bf16[B, T, K, H] = exp(U)\n}\n"
    "R : f32[B, T, H] = softmax[H](V *_K O)\n";

Program attention_program(const std::string& attention) {
    auto parsed = parse_program(std::string(attention_operands) + attention + std::string(behind_attention), "");
    REQUIRE_MESSAGE(parsed.has_value(), to_text(parsed.error()));
    return *parsed;
}

}  // namespace

TEST_CASE("stored attention is a matmul, a softmax and a matmul, of whole planes") {
    const std::string by_hand =
        print(attention_program("Scores : bf16[B, K, T, S] = Q *_H Kc\nP : bf16[B, K, T, S] = softmax[S](Scores)\n"
                                "O : bf16[B, T, K, H] = P *_S Vc\n"));
    for (const char* const scores : {"Q *_H Kc", "causal[T,S](Q *_H Kc)", "causal[T,S,W](Q *_H Kc)"}) {
        CAPTURE(scores);
        Program program = attention_program(std::string("fuse {\nP : bf16[B, K, T, S] = softmax[S](") + scores +
                                            ")\nO : bf16[B, T, K, H] = P *_S Vc\n}\n");
        store_attention(program);
        CHECK(print(program) == by_hand);
        for (const Value& value : program.values) CHECK(value.masks.empty());
    }
}

TEST_CASE("dropout is a separate kernel, and its result is read") {
    const std::string by_hand = print(attention_program(
        "Scores : bf16[B, K, T, S] = Q *_H Kc\nP : bf16[B, K, T, S] = softmax[S](Scores)\n"
        "Kept : bf16[B, K, T, S] = P * (Mask: bool[B, K, T, S])\nO : bf16[B, T, K, H] = Kept *_S Vc\n"));
    Program program = attention_program(
        "fuse {\nP : bf16[B, K, T, S] = softmax[S](causal[T,S](Q *_H Kc))\nO : bf16[B, T, K, H] = P *_S Vc\n}\n");
    store_attention(program, true);
    CHECK(print(program) == by_hand);
    // Inside a repeat the ids after it are shifted.
    const auto again = parse_program(print(program), "");
    REQUIRE_MESSAGE(again.has_value(), to_text(again.error()));
    CHECK(print(*again) == by_hand);
}

TEST_CASE("other kernels stay as they are, and existing names are not used twice") {
    const Program plain = attention_program("O : bf16[B, T, K, H] = Q\n");
    Program stored = plain;
    store_attention(stored);
    CHECK(stored == plain);
    const std::string two = "fuse {\nP : bf16[B, K, T, S] = softmax[S](Q *_H Kc)\nO : bf16[B, T, K, H] = P *_S Vc\n}\n";
    Program named = attention_program("Scores : bf16[B, T, K, H] = relu(Q)\n" + two);
    store_attention(named);
    CHECK(print(named).find("Scores_2 : bf16[B, K, T, S]") != std::string::npos);
}
