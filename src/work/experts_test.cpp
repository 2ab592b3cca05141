// Tests of functions that combine rows: experts, convolutions, windows of causal masks.
#include <doctest/doctest.h>

#include "notation/notation.hpp"
#include "program/adjoint.hpp"
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

TEST_CASE("a state is a cache that is read and written beside what follows it") {
    const std::string given = "B=3, T=8, D=5\nA : f32[B, T, D]\nX : f32[B, T, D]\ncache State : f32[B, D]\n";
    const auto with = [&](const std::string& x) {
        return program_of(given + "Y : f32[B, T, D] = scan[T](A, " + x + ")\n");
    };
    const auto bytes = [](const Program& program, bool written) {
        double sum = 0;
        const auto work = derive_work(program);
        REQUIRE(work);
        for (const KernelWork& kernel : work->kernels) {
            for (const Transfer& transfer : kernel.transfers) {
                if (transfer.write == written) sum += transfer.bytes.evaluate(program.sizes).value().to_double();
            }
        }
        return sum;
    };
    constexpr double tensor = 3 * 8 * 5 * 4;
    constexpr double state = 3 * 5 * 4;
    const Program resumed = with("resume[T](X, State)");
    CHECK(bytes(resumed, false) == 2 * tensor + state);
    CHECK(bytes(resumed, true) == tensor + state);
    const Program left = with("leave[T](X, State)");
    CHECK(bytes(left, false) == 2 * tensor);
    CHECK(bytes(left, true) == tensor + state);
    CHECK(flops(resumed) == flops(with("X")));
    CHECK(program_of(print(resumed)) == resumed);
    const auto step =
        training_step(program_of("B=3, T=8, D=5\nA : f32[B, T, D]\nparam X : f32[B, T, D]\ncache State : f32[B, D]\n"
                                 "Y : f32[B, T, D] = scan[T](A, resume[T](X, State))\n"));
    REQUIRE_FALSE(step);
    CHECK(step.error().message == "`resume` has no derivative");
}

TEST_CASE("a state that cannot be one is refused") {
    const auto refused = [](const std::string& declared, const std::string& x) {
        return error_of("B=3, T=8, D=5\nA : f32[B, T, D]\nX : f32[B, T, D]\n" + declared +
                        "\nY : f32[B, T, D] = scan[T](A, " + x + ")");
    };
    const std::string no_cache = "the state of `resume` is no cache";
    CHECK(refused("State : f32[B, D]", "resume[T](X, State)") == no_cache);
    CHECK(refused("param State : f32[B, D]", "resume[T](X, State)") == no_cache);
    CHECK(refused("cache State : f32[B, D]", "resume[T](X, exp(State))") == no_cache);
    CHECK(refused("cache State : f32[B, T, D]", "leave[T](X, State)") ==
          "the state `State` has the dimension `T`, along which `leave` works");
    CHECK(refused("cache State : f32[D]", "leave[T](X, State)") == "the state `State` lacks the dimension `B` of x");
    CHECK(refused("cache State : f32[B, D]", "resume[T](leave[T](X, State), State)") ==
          "the state `State` is used twice");
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
