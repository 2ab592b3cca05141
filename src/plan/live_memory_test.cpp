#include "plan/live_memory.hpp"

#include <doctest/doctest.h>

#include <string>

#include "base/approx_test.hpp"
#include "layout/lay_out.hpp"
#include "machine/catalogue.hpp"
#include "notation/notation.hpp"
#include "program/adjoint.hpp"

using namespace roofline::core;

namespace {

ValueId value_named(const Program& program, std::string_view name) {
    for (ValueId id = 0; id < program.values.size(); ++id) {
        if (program.values[id].name == name) return id;
    }
    FAIL("no such value");
    return 0;
}

TrainingProgram plain(std::string_view text) {
    auto parsed = parse_program(text, "");
    REQUIRE_MESSAGE(parsed.has_value(), to_text(parsed.error()));
    TrainingProgram step;
    step.program = *parsed;
    return step;
}

double peak_of(const TrainingProgram& step, const InFlight& in_flight = {}) {
    const auto memory = live_memory(step, step.program, in_flight);
    REQUIRE(memory);
    return memory->peak;
}

constexpr std::string_view logits_text =
    "T=64, D=2, V=10000\nX : bf16[T, D]\nparam W : bf16[D, V]\nLogits : bf16[T, V] = X * W";

/// The part of a program that each of two chips has.
Program local_of_two(const Program& program) {
    auto machine = find_machine("h100-sxm");
    REQUIRE(machine);
    System system;
    system.slice = *make_slice(*machine, "2");
    system.mesh = *place_mesh(system.slice, program.mesh);
    const auto laid = lay_out(program, system, {}, LayoutFreedom::as_written);
    REQUIRE_MESSAGE(laid.has_value(), to_text(laid.error()));
    return laid->local;
}

double peak_of_two(std::string_view text) {
    const TrainingProgram step = plain(text);
    const auto memory = live_memory(step, local_of_two(step.program), {});
    REQUIRE(memory);
    return memory->peak;
}

}  // namespace

// Each tensor has 8 x 10 elements of 2 bytes.
TEST_CASE("a tensor is held from the statement that produces it to the last that reads it") {
    const std::string sizes = "B=8, D=10\nX : bf16[B, D]\n";
    // H and Y are held while Y is computed, and only Y while Z is; a result without a reader is not held.
    CHECK(peak_of(plain(sizes + "H : bf16[B, D] = relu(X)\nY : bf16[B, D] = relu(H)\nZ : bf16[B, D] = exp(Y)")) == 320);
    CHECK(peak_of(plain(sizes + "H : bf16[B, D] = relu(X)\nY : bf16[B, D] = relu(H)\nZ : bf16[B, D] = H + Y\n"
                                "U : bf16[B, D] = relu(Z)")) == 480);
    // Values inside a fused kernel are not held.
    CHECK(peak_of(plain(
              sizes + "fuse { H : bf16[B, D] = relu(X)\nY : bf16[B, D] = relu(H) }\nZ : bf16[B, D] = exp(Y)")) == 160);
}

TEST_CASE("activations are held for all iterations, for each micro-batch in flight") {
    TrainingProgram step = plain(
        "B=8, D=10, L=3\nX : bf16[B, D]\nrepeat L { H : bf16[B, D] = relu(X)\nX = exp(H) }\nY : bf16[B, D] = relu(X)\n"
        "repeat L { Y = H + Y }\n");
    step.tensors = {{value_named(step.program, "H"), StepRole::activation, {"L"}}};
    // Three H, and X and Y besides them when Y is computed.
    CHECK(peak_of(step) == 3 * 160 + 320);
    CHECK(peak_of(step, {2, 1}) == 6 * 160 + 320);
    const auto memory = live_memory(step, step.program, {2, 1});
    REQUIRE(memory);
    CHECK(memory->kept == 6 * 160);
}

TEST_CASE("parameters and states are counted elsewhere") {
    TrainingProgram step = plain("D=10\nparam W : bf16[D]\nG : f32[D]\nG = W + 1\nU : bf16[D] = G + W");
    step.tensors = {{value_named(step.program, "W"), StepRole::param, {}}};
    for (ValueId id = 0; id < step.program.values.size(); ++id) {
        if (step.program.values[id].name == "G") step.tensors.push_back({id, StepRole::gradient, {}});
    }
    CHECK(peak_of(step) == 0);
}

// Each of two chips has 4 rows of X and 5 of W, and multiplies all 10 rows of W.
TEST_CASE("a gathered parameter is held besides its shard, in a repeat together with that of the next iteration") {
    const std::string head = "mesh fsdp=2\nB=8, D=10, F=10, L=3\nX : bf16[B_{fsdp}, D]\n";
    CHECK(peak_of_two(
              head + "param W : bf16[D_{fsdp}, F]\nH : bf16[B_{fsdp}, F] = X *_D W\nY : bf16[B_{fsdp}, F] = relu(H)") ==
          200 + 80);
    CHECK(peak_of_two(head + "repeat L {\nparam W : bf16[D_{fsdp}, F]\nH : bf16[B_{fsdp}, F] = X *_D W\n"
                             "Y : bf16[B_{fsdp}, F] = relu(H)\n}") == 2 * 200 + 80);
}

// Of T V logits: in bf16 these and their gradient; in f32 the logits, the gradient of the log-probabilities, and that
// of the logits in bf16 or, as PyTorch's eager cross entropy and the cast before it do, in f32.
TEST_CASE("a loss holds the tensors that its framework stores") {
    const Program forward = plain(logits_text).program;
    const auto bytes = [&](bool f32_logits, bool stored_casts) {
        const auto with = with_loss(forward, f32_logits);
        REQUIRE(with);
        TrainingOptions options;
        options.f32_logits = f32_logits;
        options.stored_casts = stored_casts;
        const auto step = training_step(*with, options);
        REQUIRE(step);
        return peak_of(*step) / (64 * 10000);
    };
    CHECK(bytes(false, false) == approx(2 + 2).epsilon(0.01));
    CHECK(bytes(true, false) == approx(4 + 4 + 2).epsilon(0.01));
    CHECK(bytes(true, true) == approx(4 + 4 + 4).epsilon(0.01));
}

// The logits and the gradient of each part, in bf16.
TEST_CASE("a loss that processes the tokens in parts holds the logits of one part") {
    const Program forward = plain(logits_text).program;
    const auto with = with_loss(forward);
    REQUIRE(with);
    const auto step = training_step(*with, {});
    REQUIRE(step);
    FrameworkHabits habits;
    habits.loss_parts = 8;
    const auto memory = live_memory(*step, step->program, {}, habits);
    REQUIRE(memory);
    CHECK(memory->peak == approx((2 + 2) * 64 * 10000 / 8.0).epsilon(0.01));
}

// In each of three iterations A, 64 x 8 in bf16, is a matmul result that the policy keeps and that no backward
// statement reads.
TEST_CASE("an eager framework keeps the tensors that its policy names, read or not") {
    const auto forward = parse_program(
        "T=64, D=8, F=16, L=3\nX : bf16[T, D]\nrepeat L {\nparam W : bf16[D, F]\nparam V : bf16[F, D]\n"
        "H : bf16[T, F] = X *_D W\nU : bf16[T, F] = relu(H)\nA : bf16[T, D] = U *_F V\nX = X + A\n}\n");
    REQUIRE(forward);
    const auto held = [&](bool keep_unread) {
        TrainingOptions options;
        options.remat = Remat::selective;
        options.keep_unread = keep_unread;
        const auto step = training_step(*forward, options);
        REQUIRE_MESSAGE(step, step.error().message);
        const auto memory = live_memory(*step, step->program, {});
        REQUIRE(memory);
        return *memory;
    };
    CHECK(held(true).kept - held(false).kept == 3 * 64 * 8 * 2);
    CHECK(held(true).peak - held(false).peak == 3 * 64 * 8 * 2);
}

// Each of two chips has 5 of 10 rows of W; what is gathered of W is counted with its unit.
TEST_CASE("the parameters that FSDP gathers as its root are counted with its units") {
    TrainingProgram step = plain(
        "mesh fsdp=2\nB=8, D=10, F=10\nX : bf16[B_{fsdp}, D]\nparam W : bf16[D_{fsdp}, F]\n"
        "H : bf16[B_{fsdp}, F] = X *_D W\nY : bf16[B_{fsdp}, F] = relu(H)");
    step.tensors = {{value_named(step.program, "W"), StepRole::param, {}}};
    const Program local = local_of_two(step.program);
    FrameworkHabits habits;
    CHECK(live_memory(step, local, {}, habits)->peak == 200 + 80);
    habits.fsdp_units = true;
    CHECK(live_memory(step, local, {}, habits)->peak == 80);
}

// W and U have 10 x 20 elements in bf16, and so has each of four experts of V; N is not an operand of a contraction.
TEST_CASE(
    "if matmuls accumulate into gradients, one tensor per shape of a layer's weights stands in for their results") {
    const std::string sizes =
        "B=8, D=10, F=20, E=4, L=3, M=2\nX : bf16[B, D]\nH : bf16[B, F]\nY : bf16[E, B, D]\nZ : bf16[E, B, F]\n"
        "param W : bf16[D, F]\nparam U : bf16[D, F]\nparam V : bf16[E, D, F]\nparam N : bf16[D]\n"
        "dW : f32[D, F]\ndU : f32[D, F]\ndV : f32[E, D, F]\ndN : f32[D]\n";
    const auto peak = [&](const std::string& text, bool fused) {
        TrainingProgram step = plain(sizes + text);
        for (ValueId id = 0; id < step.program.values.size(); ++id) {
            const std::string& name = step.program.values[id].name;
            if (name == "W" || name == "U" || name == "V" || name == "N") {
                step.tensors.push_back({id, StepRole::param, {}});
            } else if (name.starts_with("d")) {
                step.tensors.push_back({id, StepRole::gradient, {}, value_named(step.program, name.substr(1))});
            }
        }
        FrameworkHabits habits;
        habits.fused_gradients = fused;
        const auto memory = live_memory(step, step.program, {}, habits);
        REQUIRE(memory);
        return memory->peak;
    };
    const std::string layer = "repeat L { dW = dW + (X *_B H)\ndU = dU + (X *_B H)\ndN = dN + sum[B](X) }\n";
    CHECK(peak(layer, true) == 2 * 400);
    CHECK(peak(layer, false) == 2 * 400);
    // Iterations of other layers have their own shapes, or the same ones.
    CHECK(peak(layer + "repeat M { dV = dV + (Y *_B Z) }\n", true) == 2 * 400);
    CHECK(peak("repeat L { dW = dW + (X *_B H)\ndV = dV + (Y *_B Z) }\n", true) == 2 * 400);
    CHECK(peak("repeat L { dW = dW + (X *_B H) }\nrepeat M { dV = dV + (Y *_B Z) }\n", true) == 400);
    CHECK(peak("repeat L { dW = dW + (X *_B H) }\nrepeat M { dV = dV + (Y *_B Z) }\n", false) == 4 * 400);
    // A single micro-batch accumulates nothing, but autograd receives as much.
    CHECK(peak("dW = X *_B H\n", true) == 400);
    CHECK(peak("dW = X *_B H\n", false) == 0);
}

TEST_CASE("unknown sizes are an error") {
    const TrainingProgram step = plain("X : bf16[B, D]\nH : bf16[B, D] = relu(X)\nY : bf16[B, D] = relu(H)");
    CHECK(!live_memory(step, step.program, {}));
}
