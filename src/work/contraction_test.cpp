#include "work/contraction.hpp"

#include <doctest/doctest.h>

#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

ContractionPlan plan(std::string_view text, bool exact = false) {
    const auto program = parse_program(text);
    REQUIRE_MESSAGE(program.has_value(), to_text(program.error()));
    const Statement& statement = std::get<Statement>(program->body.nodes.back());
    return plan_contraction(*program, statement.ops.back(), exact);
}

std::string flops_at(const ContractionPlan& plan, const Sizes& sizes) {
    Polynomial sum;
    for (const MatmulShape& matmul : plan.matmuls) sum += matmul.flops;
    return sum.evaluate(sizes)->to_text();
}

using Dims = std::vector<std::string>;

}  // namespace

TEST_CASE("two operands as a matmul: batch, rows, columns, sum") {
    const ContractionPlan two = plan("bf16[B,T,N,H] * bf16[B,S,N,H] -> bf16[B,N,T,S]");
    REQUIRE(two.matmuls.size() == 1);
    const MatmulShape& shape = two.matmuls[0];
    CHECK(shape.batch == Dims{"B", "N"});
    CHECK(shape.m == Dims{"T"});
    CHECK(shape.n == Dims{"S"});
    CHECK(shape.k == Dims{"H"});
    CHECK(shape.unit == Unit::matmul);
    CHECK(shape.flops.to_text() == "2*B*H*N*S*T");
    CHECK(two.order.empty());
    CHECK(plan("bf16[B,T,N,H] * bf16[B,S,N,H] -> bf16[B,N,T,S]", true).matmuls[0].flops.to_text() ==
          "2*B*H*N*S*T - B*N*S*T");
}

TEST_CASE("a chain is multiplied in its cheapest order, which is reported") {
    // 10x100, 100x5, 5x50: (A B) C is 2 (5000 + 2500) = 15,000 FLOPs, A (B C) 2 (25,000 + 50,000) = 150,000.
    const std::string chain = "A: bf16[I,J] * B: bf16[J,K] * C: bf16[K,L] -> bf16[I,L]";
    const ContractionPlan left = plan("I=10, J=100, K=5, L=50\n" + chain);
    CHECK(left.order == "(A * B) * C");
    CHECK(left.by_size);
    CHECK(flops_at(left, {{"I", 10}, {"J", 100}, {"K", 5}, {"L", 50}}) == "15000");
    CHECK(left.matmuls[0].k == Dims{"J"});
    CHECK(left.matmuls[1].k == Dims{"K"});
    // In the reverse chain, 50x5, 5x100, 100x10, the right pair comes first.
    const ContractionPlan right = plan("I=50, J=5, K=100, L=10\n" + chain);
    CHECK(right.order == "A * (B * C)");
    CHECK(flops_at(right, {{"I", 50}, {"J", 5}, {"K", 100}, {"L", 10}}) == "15000");
}

TEST_CASE("without all sizes operands are taken as written") {
    const ContractionPlan open = plan("I=50, J=5, K=100\nA: bf16[I,J] * B: bf16[J,K] * C: bf16[K,L] -> bf16[I,L]");
    CHECK_FALSE(open.by_size);
    CHECK(open.order == "(A * B) * C");
}

TEST_CASE("a dimension that several operands share is summed with the last of them") {
    // D is in all three and summed: the first pair keeps it.
    const ContractionPlan shared = plan("bf16[I,D] * bf16[J,D] * bf16[K,D] -> bf16[I,J,K]");
    REQUIRE(shared.matmuls.size() == 2);
    CHECK(shared.matmuls[0].k.empty());
    CHECK(shared.matmuls[0].unit == Unit::vector);  // nothing is summed: one multiply per point
    CHECK(shared.matmuls[0].flops.to_text() == "D*I*J");
    CHECK(shared.matmuls[1].k == Dims{"D"});
    CHECK(shared.matmuls[1].flops.to_text() == "2*D*I*J*K");
}

TEST_CASE("a product without a free dimension is vector work, and so is a batch of them") {
    CHECK(plan("bf16[D] * bf16[D] -> bf16[]").matmuls[0].unit == Unit::vector);
    CHECK(plan("bf16[B,D] * bf16[B,D] -> bf16[B]").matmuls[0].unit == Unit::vector);
    CHECK(plan("bf16[B,D] * bf16[D] -> bf16[B]").matmuls[0].unit == Unit::matmul);
}
