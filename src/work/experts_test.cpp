// Tests of functions that combine rows: experts, convolutions, windows of causal masks.
#include <doctest/doctest.h>

#include "notation/notation.hpp"
#include "work/work.hpp"

using namespace roofline::core;

namespace {

Program program_of(std::string_view text) {
    auto program = parse_program(text);
    if (!program) FAIL(program.error().message);
    return std::move(*program);
}

std::string error_of(std::string_view text) {
    auto program = parse_program(text);
    return program ? "" : program.error().message;
}

double flops(const Program& program) {
    auto work = derive_work(program);
    if (!work) FAIL(work.error().message);
    return work->total.flops().evaluate(program.sizes).value_or(Rational(-1)).to_double();
}

constexpr std::string_view experts =
    "T=6, D=4, E=3, A=2, C=4, F=5\n"
    "X : bf16[T, D]\nChosen : int32[T, A]\nShare : bf16[T, A]\nparam W : bf16[E, D, F]\n"
    "Y : bf16[E, C, F] = dispatch[E,C](X, Chosen) *_D W\n";

}  // namespace

TEST_CASE("rows are dispatched to their experts, processed there and combined") {
    const Program there = program_of(experts);
    // Every expert has C = 4 rows of D = 4, and computes F = 5 outputs for each.
    CHECK(flops(there) == 2 * 3 * 4 * 4 * 5);
    const Program back = program_of(std::string(experts) + "Z : bf16[T, F] = combine[E,C,A](Y, Share)\n");
    CHECK(flops(back) - flops(there) == 2 * 6 * 2 * 5);  // each of 6 tokens adds 2 weighted rows of 5
    CHECK(print(back).find("combine[E,C,A](Y, Share)") != std::string::npos);
    CHECK(program_of(print(back)) == back);
    CHECK(error_of(std::string(experts) + "Z : bf16[T, F] = combine[E,C](Y, Share)") ==
          "`combine` takes three dimensions, as in combine[E,C,A](y, weights)");
    CHECK(error_of("X : bf16[T, D]\nI : int32[T, A]\nY : bf16[T, C, D] = dispatch[T,C](X, I)") ==
          "`T` is already a dimension of the argument");
    CHECK(error_of("X : bf16[T, D]\nI : int32[T, A]\nY : bf16[E, C, T] = dispatch[E,C](X, I)") != "");
}

TEST_CASE("a convolution keeps the shape and takes two FLOPs per tap") {
    const Program program =
        program_of("T=8, I=3, K=4\nX : bf16[T, I]\nW : bf16[I, K]\nY : bf16[T, I] = conv[T](X, W)\n");
    CHECK(flops(program) == 2 * 8 * 3 * 4);
    CHECK(program_of(print(program)) == program);
    CHECK(error_of("X : bf16[T, I]\nW : bf16[I, K]\nY : bf16[T, I] = conv[K](X, W)") ==
          "`conv` has no dimension `K` to work along");
}

TEST_CASE("a window leaves a band of the plane: T W - W^2 / 2, half of it all when the window is the sequence") {
    const auto scores = [](std::string_view mask, std::string_view sizes) {
        return flops(program_of(std::string(sizes) + "\nQ : bf16[T, H]\nK : bf16[S, H]\nP : bf16[T, S] = " +
                                std::string(mask) + "(Q *_H K)\n"));
    };
    CHECK(scores("causal[T,S]", "T=64, S=64, H=4") == 2 * 4 * 64 * 64 / 2);
    CHECK(scores("causal[T,S,W]", "T=64, S=64, H=4, W=64") == 2 * 4 * 64 * 64 / 2);
    CHECK(scores("causal[T,S,W]", "T=64, S=64, H=4, W=16") == 2 * 4 * (64 * 16 - 16 * 16 / 2));
    // The same holds for values computed from it, including sums over the columns.
    CHECK(flops(program_of("T=64, S=64, H=4, W=16\nP : bf16[T, S]\nV : bf16[S, H]\n"
                           "O : bf16[T, H] = causal[T,S,W](P) *_S V\n")) == 2 * 4 * (64 * 16 - 16 * 16 / 2));
    CHECK(error_of("P : bf16[T, S]\nO : bf16[T, S] = causal[T,S,T](P)") ==
          "`T` is already a dimension of the argument");
    CHECK(error_of("P : bf16[T, S]\nO : bf16[T, S] = causal[T](P)") ==
          "`causal` takes two dimensions, as in causal[T,S](x), and optionally a window");
}
