#include "plan/training_thresholds.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "bound/analysis.hpp"
#include "layout/lay_out.hpp"
#include "machine/catalogue.hpp"
#include "notation/notation.hpp"

namespace roofline::core {

namespace {

// Two matmuls of an MLP, forward, on a slice of TPU v5p whose chips do 4.59e14 FLOP/s and whose links carry 9e10 B/s
// per direction.
std::vector<PlanThreshold> thresholds_of(const std::string& text, const Plan& plan, double tokens_per_chip) {
    auto machine = find_machine("tpu-v5p");
    REQUIRE(machine);
    REQUIRE(set_figure(*machine, "matmul.bf16=4.59e14"));
    REQUIRE(set_figure(*machine, "ici.bandwidth=9e10"));
    auto slice = make_slice(*machine, "16x4x4");
    REQUIRE(slice);
    auto program = parse_program(text, "");
    REQUIRE_MESSAGE(program.has_value(), to_text(program.error()));
    System system;
    system.slice = *slice;
    system.collectives.textbook = true;
    auto placed = place_mesh(system.slice, program->mesh);
    REQUIRE(placed);
    system.mesh = *placed;
    const auto laid = lay_out(*program, system, {}, LayoutFreedom::as_written);
    REQUIRE(laid);
    const auto analysis = analyse(*program, laid->local, system, {});
    REQUIRE(analysis);
    return training_thresholds(*program, analysis->total, system, plan, tokens_per_chip);
}

}  // namespace

// Scaling book, chapter 5: over one axis of a torus FSDP overlaps from C / W = 4.59e14 / 1.8e11 = 2550 tokens per chip
// on.
TEST_CASE("fsdp needs as many tokens per chip as a chip does FLOPs while a link carries a byte") {
    Plan plan;
    plan.fsdp = 16;
    const auto found = thresholds_of(
        "mesh fsdp=16, rest=16\nB=65536, D=8192, F=28672\nIn : bf16[B_{fsdp}, D]\nparam Win : bf16[D_{fsdp}, F]\n"
        "param Wout : bf16[F, D_{fsdp}]\nH : bf16[B_{fsdp}, F] = In * Win\nOut : bf16[B_{fsdp}, D] = H * Wout\n",
        plan, 4096);
    REQUIRE(found.size() == 1);
    CHECK(found[0].key == "tokens_per_chip");
    CHECK(found[0].value == approx(2550));
    CHECK(found[0].now == 4096);
}

// The same: over one axis tensor-parallel collectives overlap up to F / 2550.
TEST_CASE("tensor-parallel collectives overlap up to a degree that the width of the MLP determines") {
    Plan plan;
    plan.tensor = 4;
    const auto found = thresholds_of(
        "mesh rest=64, tensor=4\nB=65536, D=8192, F=28672\nIn : bf16[B, D_{tensor}]\nparam Win : bf16[D, F_{tensor}]\n"
        "param Wout : bf16[F_{tensor}, D]\nH : bf16[B, F_{tensor}] = In * Win\nOut : bf16[B, D_{tensor}] = H * Wout\n",
        plan, 65536);
    REQUIRE(found.size() == 1);
    CHECK(found[0].key == "tensor");
    CHECK(found[0].value == approx(28672 / 2550.0));
}

}  // namespace roofline::core
