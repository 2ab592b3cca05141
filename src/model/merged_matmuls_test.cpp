#include "model/merged_matmuls.hpp"

#include <doctest/doctest.h>

#include <string>

#include "notation/notation.hpp"
#include "work/work.hpp"

using namespace roofline::core;

namespace {

/// Counts the kernels of the program after merging, and what they read and write together.
struct Merged {
    explicit Merged(const std::string& text) {
        auto parsed = parse_program(text);
        REQUIRE(parsed);
        program = *parsed;
        merge_matmuls(program);
        auto derived = derive_work(program);
        REQUIRE(derived);
        work = *derived;
    }
    [[nodiscard]] std::size_t kernels() const { return work.kernels.size(); }

    Program program;
    ProgramWork work;
};

const std::string tensors =
    "X : bf16[B, D]\nparam Wq : bf16[D, H]\nparam Wk : bf16[D, K]\nparam Wv : bf16[D, K]\n"
    "C : bf16[S, K]\nPos : int32[B]\n";

}  // namespace

TEST_CASE("projections of one tensor become one kernel, whatever is between them") {
    const Merged merged(tensors +
                        "Q : bf16[B, H] = X *_D Wq\nR = rope(Q)\nKp : bf16[B, K] = X *_D Wk\nE = rope(Kp)\n"
                        "Vp : bf16[B, K] = X *_D Wv\n");
    CHECK(merged.kernels() == 3);
    const auto* block = std::get_if<Block>(&merged.program.body.nodes.front());
    REQUIRE(block != nullptr);
    CHECK(block->kind == Block::Kind::fuse);
    CHECK(block->nodes.size() == 3);
}

TEST_CASE("matmuls are merged whatever is applied to their results, unless they are of different parts") {
    CHECK(Merged(tensors + "Q : bf16[B, H] = X *_D Wq\nC = scatter[S](C, Pos, X *_D Wk)\n").kernels() == 1);
    CHECK(Merged(tensors + "param b : bf16[H]\nQ : bf16[B, H] = X *_D Wq + b\nE : bf16[B, K] = X *_D Wk\n").kernels() ==
          1);
    // as servers do with the latents of queries and of keys, and with the rotary key (DeepSeek-V3)
    CHECK(Merged(tensors + "Q : bf16[B, H] = norm[H](X *_D Wq)\nE : bf16[B, K] = rope(X *_D Wk)\n").kernels() == 1);
    const std::string parts =
        "part attention { Q : bf16[B, H] = X *_D Wq }\npart mlp { E : bf16[B, K] = silu(X *_D Wk) }\n";
    CHECK(Merged(tensors + parts).kernels() == 2);
}

TEST_CASE("nothing is merged across a change of its inputs or outputs") {
    const std::string changed = tensors + "Q : bf16[B, H] = X *_D Wq\nX = relu(X)\nE : bf16[B, K] = X *_D Wk\n";
    CHECK(Merged(changed).kernels() == 3);
    // C is read between the matmuls, and moving the second would overwrite it before
    const std::string read = tensors +
                             "Q : bf16[B, H] = X *_D Wq\nR : bf16[S, K] = relu(C)\n"
                             "C = scatter[S](C, Pos, X *_D Wk)\n";
    CHECK(Merged(read).kernels() == 3);
}

TEST_CASE("matmuls of other tensors, other arithmetic or two inputs are not merged") {
    const std::string other = "Y : bf16[B, D]\nparam W8 : fp8[D, K]\n" + tensors + "Q : bf16[B, H] = X *_D Wq\n";
    CHECK(Merged(other + "E : bf16[B, K] = Y *_D Wk\n").kernels() == 2);
    CHECK(Merged(other + "E : bf16[B, K] = X *_D W8\n").kernels() == 2);
    CHECK(Merged("N : bf16[D, K]\n" + tensors + "Q : bf16[B, H] = X *_D Wq\nE : bf16[B, K] = X *_D N\n").kernels() ==
          2);
}
