#include "plan/training_memory.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "layout/lay_out.hpp"
#include "machine/catalogue.hpp"
#include "notation/notation.hpp"

namespace roofline::core {

namespace {

ValueId named(const Program& program, std::string_view name) {
    for (ValueId id = 0; id < program.values.size(); ++id) {
        if (program.values[id].name == name) return id;
    }
    FAIL("no such value");
    return 0;
}

/// Three layers of 200 parameters each.
Program forward_of_600() {
    auto forward = parse_program(
        "B=4, D=10, F=20, L=3\nX : bf16[B, D]\nrepeat L {\nparam W : bf16[D, F]\n"
        "H : bf16[B, F] = X * W\nX = H *_F W\n}\n");
    REQUIRE(forward);
    return *forward;
}

System one_h100() {
    auto machine = find_machine("h100-sxm");
    REQUIRE(machine);
    System system;
    system.slice = make_slice(*machine, "1").value();
    return system;
}

}  // namespace

// One matmul per layer, three layers, over 6 chips: W has 3 * 10 * 10 elements and its moment as many in f32; each chip
// keeps ceil(8 / 6) rows of 10 of H.
TEST_CASE("parameters divide exactly and activations are padded") {
    auto machine = find_machine("h100-sxm");
    REQUIRE(machine);
    auto slice = make_slice(*machine, "6");
    REQUIRE_MESSAGE(slice.has_value(), to_text(slice.error()));
    const auto text =
        "mesh fsdp=6\nB=8, D=10, F=10, L=3\nX : bf16[B_{fsdp}, D]\nrepeat L {\nparam W : bf16[D_{fsdp}, F]\n"
        "M : f32[D_{fsdp}, F]\nH : bf16[B_{fsdp}, F] = X * W\nX = H *_F (W + M)\n}\n";
    auto parsed = parse_program(text, "");
    REQUIRE_MESSAGE(parsed.has_value(), to_text(parsed.error()));
    System system;
    system.slice = *slice;
    auto placed = place_mesh(system.slice, parsed->mesh);
    REQUIRE(placed);
    system.mesh = *placed;
    const auto laid = lay_out(*parsed, system, {}, LayoutFreedom::as_written);
    REQUIRE_MESSAGE(laid.has_value(), to_text(laid.error()));
    TrainingProgram step;
    step.program = *parsed;
    step.tensors = {{named(*parsed, "W"), StepRole::param, {"L"}},
                    {named(*parsed, "M"), StepRole::optimizer_state, {"L"}},
                    {named(*parsed, "H"), StepRole::activation, {"L"}}};
    const auto memory = training_memory(step, laid->local, laid->types, system, {2, 2});
    REQUIRE(memory);
    CHECK(memory->params == approx(2 * 3 * 10 * 10 / 6.0));
    CHECK(memory->optimizer == approx(4 * 3 * 10 * 10 / 6.0));
    CHECK(memory->gradients == 0);
    // Two micro-batches in flight.
    CHECK(memory->activations == approx(2 * 3 * 2 * 2 * 10));
    // Besides, X of 2 x 10 while H is computed, and the gathered W and M, W also for the next iteration.
    CHECK(memory->working > 0);
    CHECK(memory->total() == approx(100 + 200 + 240 + memory->working));
    REQUIRE(memory->capacity);
    CHECK(memory->fits());
    // Without a layout everything is whole on one chip.
    const auto whole = training_memory(step, step.program, {}, system, {});
    REQUIRE(whole);
    CHECK(whole->params == approx(600));
    CHECK(whole->activations == approx(3 * 2 * 8 * 10));
}

TEST_CASE("an optimizer of plain operations has 12 bytes per parameter, or 8 with gradients in f32") {
    const Program forward = forward_of_600();
    const System system = one_h100();
    const auto total = [&](bool f32_gradients, bool unfused) {
        TrainingOptions options;
        options.f32_gradients = f32_gradients;
        const auto step = training_step(forward, options);
        REQUIRE_MESSAGE(step, step.error().message);
        const auto memory = training_memory(*step, step->program, {}, system, {}, {unfused});
        REQUIRE(memory);
        return memory->activations + memory->working;
    };
    // 600 parameters: more than any tensor with 4 rows of 10 and 20.
    CHECK(total(false, true) == approx(12 * 600));
    CHECK(total(true, true) == approx(8 * 600));
    CHECK(total(false, false) < 8 * 600);
}

// For 600 parameters: 12 bytes of an unfused optimizer use the memory of 4 rows of activations, and more beside their
// blocks.
TEST_CASE("an allocator keeps blocks of activations while an unfused optimizer runs, and of flattened gradients") {
    const System system = one_h100();
    const auto step = training_step(forward_of_600(), {});
    REQUIRE(step);
    const auto memory_with = [&](const FrameworkHabits& habits) {
        const auto memory = training_memory(*step, step->program, {}, system, {}, habits);
        REQUIRE(memory);
        return *memory;
    };
    const TrainingMemory plain = memory_with({});
    CHECK(plain.extra_reserved == 0);
    FrameworkHabits habits;
    habits.unfused = true;
    CHECK(memory_with(habits).extra_reserved == approx(plain.activations + plain.working));
    habits.flat_optimizer = true;
    CHECK(memory_with(habits).extra_reserved == approx(plain.activations + plain.working + 2 * 600));
    CHECK(memory_with(habits).total() == approx((2 + 2 + 12 + 12) * 600));
    // Copies for the norm reuse the blocks of activations; the rest of 4 bytes each is additional.
    habits = {};
    habits.copied_norm = true;
    const double activations = plain.activations + plain.working;
    REQUIRE(activations < 4 * 600);
    CHECK(memory_with(habits).extra_reserved == approx(4 * 600 - activations));
    TrainingOptions options;
    options.f32_gradients = true;
    const auto wide = training_step(forward_of_600(), options);
    REQUIRE(wide);
    CHECK(training_memory(*wide, wide->program, {}, system, {}, habits)->extra_reserved == 0);
}

}  // namespace roofline::core
