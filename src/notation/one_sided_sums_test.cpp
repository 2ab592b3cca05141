#include "program/one_sided_sums.hpp"

#include <doctest/doctest.h>

#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

std::vector<std::string> slips(std::string_view text) {
    const auto program = parse_program(text);
    REQUIRE_MESSAGE(program.has_value(), text);
    return one_sided_sums(*program);
}

bool says(const std::vector<std::string>& warnings, std::string_view part) {
    return warnings.size() == 1 && warnings[0].find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a product that sums over a dimension of only one operand gets a warning with both readings and its place") {
    const auto both = slips("bf16[B,D]*bf16[E,F]->bf16[B,F]");
    CHECK(says(both, "line 1, column 10: "));
    CHECK(says(both, "sums over D, which only A has"));
    CHECK(says(both, "sum[D](A) and sum[E](B) first"));
    CHECK(says(both, "D and E are one dimension"));
    CHECK(says(slips("bf16[B,D=8]*bf16[E=4,F]->bf16[B,F]"), "another operand has D as well"));
    CHECK(says(slips("bf16[B,D]*bf16[B,F]->bf16[B,F]"), "D, which only A has"));
    CHECK(says(slips("A:bf16[B,D]; W:bf16[E,F]; V:bf16[F,G]\nO:bf16[B,G] = A * W * V"), "E, which only W has"));
    CHECK(says(slips("A:bf16[B,D]; W:bf16[E,F]\nO:bf16[B,F] = relu(A * W)"), "line 2, column 22"));
}

TEST_CASE("sums that are written explicitly, or that two operands share, get no warning") {
    CHECK(slips("bf16[B,D]*bf16[D,F]->bf16[B,F]").empty());
    CHECK(slips("A:bf16[B,D]; W:bf16[E,F]\nO:bf16[B,F] = sum[D](A) * sum[E](W)").empty());
    CHECK(slips("A:bf16[B,D]; W:bf16[B,F]\nO = A *_D W").empty());
    CHECK(slips("A:bf16[B,D]; G:bf16[D,F]; I:bf16[D,F]\nH:bf16[B,F] = silu(A * G) * (A * I)").empty());
    CHECK(slips("bf16[B,8]*bf16[8,F]->bf16[B,F]").empty());
}
