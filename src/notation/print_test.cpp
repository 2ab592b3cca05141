#include <doctest/doctest.h>

#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

Program program_of(std::string_view text) {
    auto program = parse_program(text);
    REQUIRE_MESSAGE(program.has_value(), text, "\n", to_text(program.error()));
    return *program;
}

void check_round_trip(std::string_view text) {
    const Program program = program_of(text);
    const std::string printed = print(program);
    CAPTURE(text);
    CAPTURE(printed);
    const auto again = parse_program(printed);
    REQUIRE_MESSAGE(again.has_value(), to_text(again.error()));
    CHECK(*again == program);
    CHECK(print(*again) == printed);
}

}  // namespace

TEST_CASE("a program is printed with one statement per line, sizes first, and the types that were written") {
    CHECK(print(program_of("X : bf16[B=8,D];param W:int8[D,F] in vmem\nH = silu( X*_D W )  # hidden")) ==
          "B=8\n"
          "X : bf16[B, D]\n"
          "param W : int8[D, F] in vmem\n"
          "H = silu(X *_D W)\n");
    CHECK(print(program_of("bf16[B,D=16]@int8[D,F] -> C:f32[B,F] using f32")) ==
          "bf16[B, D] * int8[D, F] -> C: f32[B, F] using f32\nD=16\n");
    CHECK(print(program_of("A : bf16[B_XY, 8_{data}]{U_Z}; mesh X=4,Y=2, data=2, Z=2")) ==
          "mesh X=4, Y=2, data=2, Z=2\nA : bf16[B_XY, 8_{data}]{U_Z}\n");
    CHECK(print(program_of("mesh X=4,Y=2; A:bf16[B] in host at Y=1 , X=3; C : bf16[B] at X=0=A")) ==
          "mesh X=4, Y=2\nA : bf16[B] in host at Y=1,X=3\nC : bf16[B] at X=0 = A\n");
    CHECK(print(program_of("X : bf16[B]\nrepeat 4 { fuse { Y = relu(X); X = Y + X } }")) ==
          "X : bf16[B]\n"
          "repeat 4 {\n"
          "    fuse {\n"
          "        Y = relu(X)\n"
          "        X : bf16[B] = Y + X\n"
          "    }\n"
          "}\n");
}

TEST_CASE("sizes that cannot come first print the same when they are parsed back") {
    // P and Y are only sizes: when printed after the tensors they no longer come before B.
    const std::string printed = print(program_of("P=4, Y=4\nB=8\nA : bf16[B, F]\nC : bf16[F, G]\nH=2"));
    CHECK(printed == "A : bf16[B, F]\nC : bf16[F, G]\nB=8, H=2, P=4, Y=4\n");
    CHECK(print(program_of(printed)) == printed);
}

TEST_CASE("a mesh is printed with the links it was given") {
    CHECK(print(program_of("mesh X = 4 on ici . 1,Y=16 on ici.0+ ici.2, Z=2\nA : bf16[B_X]")) ==
          "mesh X=4 on ici.1, Y=16 on ici.0+ici.2, Z=2\nA : bf16[B_X]\n");
    check_round_trip("mesh X=4 on ici.1, Y=16 on ici.0+ici.2, Z=2\nA : bf16[B_X]");
    CHECK(parse_program("mesh X=4 on\nA : bf16[B_X]").error().message.find("a tier of the network") !=
          std::string::npos);
    CHECK(parse_program("mesh X=4 on ici.\nA : bf16[B_X]").error().message.find("torus axis") != std::string::npos);
}

TEST_CASE("a statement has a title by itself") {
    const Program program = program_of("X : bf16[B,D]\nW : bf16[D,F]\nH : bf16[B,F] = gelu(X * W)");
    const Statement& statement = std::get<Statement>(program.body.nodes[0]);
    CHECK(statement_text(program, statement, Types::none) == "H = gelu(X * W)");
    CHECK(statement_text(program, statement, Types::plain) == "H : bf16[B, F] = gelu(X * W)");
    // In a one-liner without types the tensors have the letters that reports use.
    const Program line = program_of("bf16[B,D] * bf16[D,F] -> bf16[B,F]");
    CHECK(statement_text(line, std::get<Statement>(line.body.nodes[0]), Types::none) == "A * B -> C");
}

TEST_CASE("parentheses are printed where the meaning needs them") {
    const std::string declared = "A : bf16[B]; C : bf16[B]; D : bf16[B]\n";
    for (const std::string expression : {"A * C * D", "A * (C * D)", "(A + C) * D", "A + C * D", "A - (C - D)",
                                         "A - C - D", "A / (C * D)", "A / C * D", "-(A + C)", "2 * A", "A * -0.5",
                                         "1 - A", "maximum(A, 0)", "1e-05 + A / 3", "(A * 2) * C", "neg(A) + -C"}) {
        check_round_trip(declared + "R : bf16[B] = " + expression);
    }
}

TEST_CASE("an elementwise product in one dtype is flat at any length; one in two dtypes is not") {
    const std::string declared = "A : int8[B]; C : int8[B]\n";
    // Together they are multiplied in int8; in parentheses the first product is an int32 operand of the second.
    CHECK(print(program_of(declared + "R : int32[B] = A * C * A")).ends_with("= A * C * A\n"));
    CHECK(print(program_of(declared + "R : int32[B] = (A * C) * A")).ends_with("= (A * C) * A\n"));
    check_round_trip(declared + "R : int32[B] = A * C * A");
    check_round_trip(declared + "R : int32[B] = (A * C) * A");
    std::string many = "A";
    for (int i = 0; i < 300; ++i) many += " * A";
    check_round_trip(declared + "R : int32[B] = " + many);
}

TEST_CASE("printing and parsing again gives the same program") {
    for (const std::string_view text : {
             "bf16[B, D] * int8[D, F] -> bf16[B, F]",
             "A: bf16[B, D] * W: int8[D, F] -> C: bf16[B, F]",
             "bf16[8, 16] * bf16[16, 4] -> bf16[8, 4]",
             "A : bf16[8, 8]\nC : bf16[8, 8] = A * A",
             "f32[I,J=3] * f32[J,K] * f32[K,L] -> f32[I,L]",
             "bf16[B] in host -> f32[B] in vmem",
             "table : bf16[V, D]; ids : int32[B, T]; E : bf16[B, T, D] = gather[V](table, ids)",
             "C : bf16[S, H]; at : int32[T]; n : bf16[T, H]; C = scatter[S](C, at, n)",
             "Q : bf16[T,H]; K : bf16[S,H]\nP : bf16[T,S] = softmax[S](causal[T,S](Q * K))",
             "X : bf16[B]\nrepeat L { Y : bf16[B] = relu(X); X = Y }\nL=3",
             "C : bf16[I, M] = (bf16[I,J] * bf16[J,K]) * (bf16[K,L] * bf16[L,M])",
             "X : bf16[B,D]; G : bf16[D,F]; I : bf16[D,F]; H : bf16[B,F] = silu(X * G) * (X * I)",
             "C : bf16[B,F] = bf16[B,D,E] *_{D, E} bf16[D,E,F]",
             "mesh X=4, Y=2, data=2\nA : bf16[B_XY, D_{data}]\n",
             "bf16[B, D]{U_X} -> bf16[B_X, D]",
             "mesh X=4, data=2\nA : bf16[B, D] in host at X=3,data=1; C : bf16[B, D] at X=0 = A",
             "A: bf16[B, D] at X=1 * W: bf16[D, F] at X=2 -> C: bf16[B, F] at X=3 using f32; mesh X=4",
             "where(bool[B] at X=0, bf16[B, D], 0) -> bf16[B, D]",
             "where(bool[B], bf16[B, D], 0) -> bf16[B, D]",
         }) {
        check_round_trip(text);
    }
}

TEST_CASE("a type within an expression is written once in a program") {
    const auto program = parse_program("A : bf16[N] = W: bf16[N] + W\nB : bf16[N] = W + A\n");
    REQUIRE(program);
    const std::string printed = print(*program);
    CHECK(printed == "A : bf16[N] = W: bf16[N] + W\nB : bf16[N] = W + A\n");
    CHECK(parse_program(printed));
}

TEST_CASE("an inferred type is written out, which moves the result's dimensions to the front and no further") {
    for (const std::string_view text : {"C = bf16[B,D,E] *_DE bf16[D,E,F]", "A : bf16[8, 4]\nC = relu(A)"}) {
        const std::string printed = print(program_of(text));
        CAPTURE(printed);
        check_round_trip(printed);
        CHECK(print(program_of(printed)) == printed);
    }
}
