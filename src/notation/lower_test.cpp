// Tests of the meaning of texts: summed dimensions, dtypes of the arithmetic, shapes of results.
#include "notation/lower.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

Program parsed(std::string_view text) {
    auto program = parse_program(text);
    REQUIRE_MESSAGE(program.has_value(), text, "\n", to_text(program.error()));
    return *program;
}

Error error_of(std::string_view text) {
    const auto program = parse_program(text, "p.roof");
    REQUIRE_FALSE_MESSAGE(program.has_value(), text);
    return program.error();
}

const Statement& statement(const Program& program, std::size_t index) {
    REQUIRE(index < program.body.nodes.size());
    return std::get<Statement>(program.body.nodes[index]);
}

const Statement& last(const Program& program) { return statement(program, program.body.nodes.size() - 1); }

// Returns one word per operation: its function, the dimensions it works along, and those of its result:
// "contract[D]->BF".
std::string ops_text(const Statement& statement) {
    std::string text;
    for (const Op& op : statement.ops) {
        const std::string what = op.kind == OpKind::contract ? "contract"
                                 : op.kind == OpKind::move   ? "move"
                                                             : op.function;
        text += fmt::format("{}{}[{}]->{}", text.empty() ? "" : " ", what, fmt::join(op.along, ""),
                            fmt::join(op.output.dims, ""));
    }
    return text;
}

std::string ops_of(std::string_view text) { return ops_text(last(parsed(text))); }

Dtype arithmetic_of(std::string_view text) { return last(parsed(text)).ops.back().arithmetic; }

constexpr std::string_view mlp = R"(X : bf16[B, D]
Wg : bf16[D, F]
Wi : bf16[D, F]
Wo : bf16[F, D]
)";

std::string with_mlp(std::string_view statement) { return std::string(mlp) + std::string(statement); }

}  // namespace

TEST_CASE("a product sums over what its result lacks; a shared dimension that is kept is a batch") {
    CHECK(ops_of("bf16[B,D] * bf16[D,F] -> bf16[B,F]") == "contract[D]->BF");
    CHECK(ops_of("int8[B,D] * int8[B,D,F] -> int8[B,F]") == "contract[D]->BF");
    CHECK(ops_of("bf16[I,J,K,L] * bf16[I,J,M,N,O] -> bf16[K,L,M,N,O]") == "contract[IJ]->KLMNO");
    CHECK(ops_of("bf16[D] * bf16[D] -> bf16[]") == "contract[D]->");
    CHECK(ops_of("bf16[B,D] * bf16[D] -> bf16[B,D]") == "mul[]->BD");        // nothing is summed
    CHECK(ops_of("bf16[B,D] * bf16[F] -> bf16[B,F]") == "contract[D]->BF");  // a sum over a dimension of one operand
}

TEST_CASE("a nested product sums over dimensions that neither the result nor the other operands have") {
    CHECK(ops_of(with_mlp("H : bf16[B, F] = silu(X * Wg) * (X * Wi)")) ==
          "contract[D]->BF silu[]->BF contract[D]->BF mul[]->BF");
    CHECK(ops_of(with_mlp("H : bf16[B, F] = silu(X *_D Wg) * (X *_D Wi)")) ==
          "contract[D]->BF silu[]->BF contract[D]->BF mul[]->BF");
    // The vector has F, so the inner product keeps it and the outer one sums over it.
    CHECK(ops_of(with_mlp("O : bf16[B] = relu(X * Wg) * bf16[F]")) == "contract[D]->BF relu[]->BF contract[F]->B");
    CHECK(ops_of("C : bf16[I, M] = (bf16[I,J] * bf16[J,K]) * (bf16[K,L] * bf16[L,M])") ==
          "contract[J]->IK contract[L]->KM contract[K]->IM");
    // J is summed in the innermost product, unless something around still needs it; a plain tensor beside it does.
    CHECK(ops_of("C : bf16[I, K] = (bf16[I,J] * bf16[I]) * bf16[I,K]") == "contract[J]->I mul[]->IK");
    CHECK(ops_of("C : bf16[I, K] = (bf16[I,J] * bf16[J,K]) * bf16[J]") == "mul[]->IJK contract[J]->IK");
    CHECK(ops_of("C : bf16[I, K] = (bf16[I,J] * bf16[J,K]) * relu(bf16[J])") == "mul[]->IJK relu[]->J contract[J]->IK");
    CHECK(ops_of("C : bf16[I, K] = (bf16[I,J] * bf16[I,J]) * (bf16[J,K] * bf16[J,K])") ==
          "contract[J]->I contract[J]->K mul[]->IK");
    // A function that works along a dimension needs it.
    CHECK(ops_of("C : bf16[T] = sum[S](bf16[T,H] * bf16[S,H])") == "contract[H]->TS sum[S]->T");
    CHECK(ops_of("O : bf16[T,H] = softmax[S](bf16[T,K] * bf16[S,K]) * bf16[S,H]") ==
          "contract[K]->TS softmax[S]->TS contract[S]->TH");
}

TEST_CASE("a result without a written type must follow") {
    CHECK(ops_of(with_mlp("H = X *_D Wg")) == "contract[D]->BF");
    CHECK(ops_of("C = bf16[B,D,E] *_DE bf16[D,E,F]") == "contract[DE]->BF");
    const Error error = error_of(with_mlp("H = X * Wg"));
    CHECK(error.code == "result_type");
    CHECK(error.hint.find("*_D") != std::string::npos);
    CHECK(error.place->line == 5);
    const Program program = parsed("C = int8[B,D] *_D int8[D,F]");
    CHECK(program.values[last(program).result].type.dtype == Dtype::int32);  // as wide as the accumulator
}

TEST_CASE("bare numbers pair as in a matrix product, and only so") {
    const Program program = parsed("bf16[8, 16] * bf16[16, 4] -> bf16[8, 4]");
    const Op& op = last(program).ops.front();
    REQUIRE(op.along.size() == 1);
    CHECK(program.sizes.at(op.along[0]) == 16);
    CHECK(op.inputs[0].dims[1] == op.inputs[1].dims[0]);
    CHECK(program.dims.empty());
    CHECK(error_of("bf16[8, 16] * bf16[12, 4] -> bf16[8, 4]").code == "size_conflict");
    CHECK(error_of("bf16[8, 16] * bf16[4, 16] -> bf16[8, 4]").code == "size_conflict");
    CHECK(error_of("bf16[8, 16] + bf16[8, 16] -> bf16[8, 16]").code == "unnamed_dimensions");
    // A square matrix times itself: rows of the one are not rows of the other.
    const Program square = parsed("A : bf16[8, 8]\nC : bf16[8, 8] = A * A");
    CHECK(last(square).ops.front().output.dims[0] != last(square).ops.front().output.dims[1]);
}

TEST_CASE("the arithmetic: float beats integer, then more bits; equal width must be resolved by the user") {
    CHECK(arithmetic_of("bf16[B,D] * int8[D,F] -> bf16[B,F]") == Dtype::bf16);
    CHECK(arithmetic_of("fp8[B,D] * int32[D,F] -> bf16[B,F]") == Dtype::fp8);
    CHECK(arithmetic_of("int8[B,D] * int4[D,F] -> bf16[B,F]") == Dtype::int8);
    CHECK(arithmetic_of("bf16[B,D] * f32[D,F] -> bf16[B,F]") == Dtype::f32);
    CHECK(arithmetic_of("bf16[B,D] * f16[D,F] -> bf16[B,F] using f16") == Dtype::f16);
    CHECK(error_of("bf16[B,D] * f16[D,F] -> bf16[B,F]").code == "ambiguous_arithmetic");
    CHECK(arithmetic_of("bool[B] * bf16[B] -> bf16[B]") == Dtype::bf16);  // a condition does not count
}

TEST_CASE("a causal mask applies to all intermediate values of its expression, and not to later results") {
    const Program program = parsed(
        "Q : bf16[T,H]\nK : bf16[S,H]\nV : bf16[S,H]\n"
        "P : bf16[T,S] = softmax[S](causal[T,S](Q * K))\nO : bf16[T,H] = P * V");
    const std::vector<MaskedPlane> plane{{"T", "S"}};
    for (const Op& op : statement(program, 0).ops) CHECK(program.values[op.output.value].masks == plane);
    CHECK(program.values[last(program).result].masks.empty());  // O has no S
}

TEST_CASE("a name assigned again in a repeat is carried, with its type") {
    const Program program = parsed("X : bf16[B, D]\nrepeat L { X = relu(X); Y = relu(X) }");
    const Block& block = std::get<Block>(program.body.nodes.front());
    CHECK(block.count == "L");
    CHECK(program.dims == std::vector<std::string>{"B", "D", "L"});
    const Value& again = program.values[std::get<Statement>(block.nodes[0]).result];
    CHECK(again.carried);
    CHECK(again.type.dtype == Dtype::bf16);
    CHECK_FALSE(program.values[std::get<Statement>(block.nodes[1]).result].carried);
    CHECK(error_of("X : bf16[B]\nX : f32[B] = X + X").code == "defined_twice");
}

TEST_CASE("sizes in the text must agree, and a list may not repeat a name") {
    CHECK(parsed("B=8\nbf16[B=8, D=4k] -> f32[B, D]").sizes == Sizes{{"B", 8}, {"D", 4000}});
    CHECK(error_of("B=8\nbf16[B=9] -> f32[B]").code == "size_conflict");
    CHECK(*parse_sizes("B=8, D = 4Ki") == Sizes{{"B", 8}, {"D", 4096}});
    CHECK(parse_sizes("B=8,B=8").error().code == "size_conflict");
    CHECK(parse_sizes("B").error().code == "syntax");
    CHECK(parse_sizes("bf16[B] -> f32[B]").error().code == "syntax");
}

TEST_CASE("results that do not follow are refused with their place") {
    const auto check = [](std::string_view text, std::string_view code, int line, int column) {
        const Error error = error_of(text);
        CAPTURE(text);
        CAPTURE(error.message);
        CHECK(error.code == code);
        CHECK(error.place->line == line);
        CHECK(error.place->column == column);
    };
    check("bf16[B,D] * bf16[D,F] -> bf16[B,G]", "result_type", 1, 26);
    check("bf16[B,D] + bf16[B,D] -> bf16[B]", "result_type", 1, 26);
    check("A : bf16[B]\nC = relu(Q)", "unknown_name", 2, 10);
    check("softmax[T](bf16[B,S]) -> bf16[B,S]", "unknown_dimension", 1, 9);
    check("relu(bf16[B], bf16[B]) -> bf16[B]", "arguments", 1, 1);
    check("causal[T,T](bf16[T,S]) -> bf16[T,S]", "arguments", 1, 1);
    check("C = 2 + 3", "syntax", 1, 5);
    check("relu : bf16[B]", "reserved", 1, 1);
    check("mesh X=4\nA : bf16[B_Y]", "unknown_axis", 2, 10);
}
