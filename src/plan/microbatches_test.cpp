#include "plan/microbatches.hpp"

#include <doctest/doctest.h>

#include "notation/notation.hpp"
#include "work/work.hpp"

namespace roofline {

// 2BDD forward, 4BDD backward (both gradients), as often as there are parts; the optimizer's elementwise work once.
TEST_CASE("forward and backward run once a microbatch, the optimizer once a step") {
    const auto forward = parse_program("B=4, D=8\nX : bf16[B, D]\nparam W : bf16[D, E]\nE=8\nY : bf16[B, E] = X * W\n", "");
    REQUIRE_MESSAGE(forward.has_value(), to_text(forward.error()));
    const auto step = training_step(*forward, {});
    REQUIRE_MESSAGE(step.has_value(), to_text(step.error()));
    const auto once = derive_work(in_microbatches(*step, 1));
    const Program five = in_microbatches(*step, 5);
    const auto more = derive_work(five);
    REQUIRE(once);
    REQUIRE(more);
    const auto number = [&](const Polynomial& flops) { return flops.evaluate(five.sizes)->to_double(); };
    CHECK(number(once->total.flops(Unit::matmul)) == 6 * 4 * 8 * 8);
    CHECK(number(more->total.flops(Unit::matmul)) == 5 * 6 * 4 * 8 * 8);
    CHECK(number(more->total.flops(Unit::vector)) == number(once->total.flops(Unit::vector)));
    CHECK(number(once->total.flops(Unit::vector)) > 0);
}

}  // namespace roofline
