// Compares training steps of models with counts from the literature.
#include <doctest/doctest.h>

#include <string>

#include "model/account.hpp"
#include "model/models_test.hpp"
#include "notation/notation.hpp"
#include "program/adjoint.hpp"
#include "work/contraction.hpp"

using namespace roofline::core;

namespace {

TrainingProgram step_of(const Model& model, Remat remat = Remat::none) {
    auto with = with_loss(model.program);
    REQUIRE(with);
    TrainingOptions options;
    options.remat = remat;
    auto step = training_step(*with, options);
    REQUIRE_MESSAGE(step.has_value(), model.name);
    return *step;
}

template <class Visit>
void each_statement(const Program& program, const Block& block, const Rational& count, Visit visit) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            const bool repeat = inner->kind == Block::Kind::repeat;
            each_statement(program, *inner, repeat ? count * Rational(program.sizes.at(inner->count)) : count, visit);
        } else {
            visit(std::get<Statement>(node), count);
        }
    }
}

Rational matmul_flops_of(const Program& program, const Statement& statement) {
    Rational sum;
    for (const Op& op : statement.ops) {
        if (op.kind != OpKind::contract) continue;
        for (const MatmulShape& shape : plan_contraction(program, op, false).matmuls) {
            sum += shape.flops.evaluate(program.sizes).value();
        }
    }
    return sum;
}

Rational matmul_flops_of(const Program& program) {
    Rational sum;
    each_statement(program, program.body, Rational(1), [&](const Statement& statement, const Rational& count) {
        sum += matmul_flops_of(program, statement) * count;
    });
    return sum;
}

Rational matmul_flops_of(const TrainingProgram& step, StepPhase phase) {
    Rational sum;
    std::size_t next = 0;
    each_statement(step.program, step.program.body, Rational(1),
                   [&](const Statement& statement, const Rational& count) {
                       if (step.phases.at(next++) == phase) sum += matmul_flops_of(step.program, statement) * count;
                   });
    return sum;
}

}  // namespace

TEST_CASE(
    "a step of Llama 3.1 70B takes 6 FLOPs per multiplying parameter and token, and 7/2 of the forward FLOPs of "
    "attention") {
    // 70,553,706,496 parameters; the embedding, 128256 x 8192, and 161 norms of 8192 are not multiplying:
    constexpr std::int64_t multiplying = 70'553'706'496 - 128'256LL * 8192 - 161LL * 8192;
    constexpr std::int64_t tokens = 4096;
    const Model model = model_named("llama-3.1-70b", tokens);
    // Attention forward: two matmuls over half of the mask, 2 T^2 D per layer, for 80 layers. Backward has five matmuls
    // instead of two.
    const Rational attention = Rational(80) * Rational(2) * Rational(tokens) * Rational(tokens) * Rational(8192);
    const TrainingProgram step = step_of(model);
    CHECK(matmul_flops_of(step.program) ==
          Rational(6) * Rational(multiplying) * Rational(tokens) + attention * Rational(7, 2));
    // With full recomputation, each layer's matmuls and attention's forward pass run once more: 8 N D without the head.
    constexpr std::int64_t head = 128'256LL * 8192;
    const TrainingProgram full = step_of(model, Remat::full);
    CHECK(matmul_flops_of(full.program) == Rational(8) * Rational(multiplying - head) * Rational(tokens) +
                                               Rational(6) * Rational(head) * Rational(tokens) +
                                               attention * Rational(9, 2));
    // Adam: 16 bytes per parameter.
    Rational bytes;
    for (const StepRole role : {StepRole::param, StepRole::gradient, StepRole::optimizer_state}) {
        bytes += bytes_of(step, role).evaluate(step.program.sizes).value();
    }
    CHECK(bytes == Rational(16) * Rational(70'553'706'496));
}

TEST_CASE("every second matmul with parameters is recomputed") {
    constexpr std::int64_t tokens = 1024;
    const Model model = model_named("llama-3.1-8b", tokens);
    const TrainingProgram all = step_of(model, Remat::selective);
    const TrainingProgram half = step_of(model, Remat::alternate);
    // of queries, keys, values, output, gate, up and down: keys, 4096 x 1024, output, 4096 x 4096, and up, 4096 x
    // 14336, are recomputed
    constexpr std::int64_t again = 4096LL * 1024 + 4096LL * 4096 + 4096LL * 14336;
    CHECK(matmul_flops_of(half, StepPhase::recomputation) - matmul_flops_of(all, StepPhase::recomputation) ==
          Rational(2 * tokens) * Rational(32) * Rational(again));
    // stored per layer and token: the input, queries, values, the result of attention, the gate
    Rational kept;
    for (const StepTensor& tensor : half.tensors) {
        if (tensor.role != StepRole::activation || tensor.repeats.empty()) continue;
        kept += (bytes_of({}, half.program.values[tensor.value]) * elements({}, tensor.repeats))
                    .evaluate(half.program.sizes)
                    .value();
    }
    CHECK(kept == Rational(2 * 32 * tokens) * Rational(4096 + 4096 + 1024 + 4096 + 14336));
    // outside of layers everything is stored
    CHECK(matmul_flops_of(half, StepPhase::forward) == matmul_flops_of(all, StepPhase::forward));
}

TEST_CASE(
    "every model has a training step that parses back, and a backward pass with twice the matmuls of the forward "
    "pass") {
    std::size_t next = 0;
    for (const std::string& name : preset_names()) {
        CAPTURE(name);
        const Model model = model_named(name, 256);
        constexpr Remat policies[] = {Remat::none, Remat::selective, Remat::full, Remat::alternate};
        const TrainingProgram step = step_of(model, policies[next++ % 4]);
        const std::string text = print(step.program);
        auto again = parse_program(text);
        REQUIRE_MESSAGE(again.has_value(), (again ? std::string() : again.error().message));
        CHECK(again->values == step.program.values);
        const Rational forward = matmul_flops_of(model.program);
        CHECK(matmul_flops_of(step, StepPhase::forward) == forward);
        // The gradient of a recurrence's state sums nothing: it is an outer product, which counts as elementwise.
        const bool recurrent = text.find("scan[") != std::string::npos;
        // The same holds for M streams that are mixed into one before attention, before the experts and before the
        // head.
        const auto streams = model.sizes.find("M");
        const Rational outer = streams == model.sizes.end() || model.architecture != "compressed"
                                   ? Rational(0)
                                   : Rational(2 * 256) * Rational(streams->second) * Rational(model.sizes.at("D")) *
                                         Rational(2 * model.layer_count + 1);
        if (!recurrent) CHECK(matmul_flops_of(step, StepPhase::backward) == forward * Rational(2) - outer);
    }
}
