#include "program/adapters.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "notation/notation.hpp"
#include "program/adjoint.hpp"
#include "program/weight_arithmetic.hpp"

using namespace roofline::core;

namespace {

Program unadapted(const std::string& text) {
    auto program = parse_program(text);
    REQUIRE_MESSAGE(program, to_text(program.error()));
    return *program;
}

ValueId value_called(const Program& program, std::string_view name) {
    const auto found = std::find_if(program.values.begin(), program.values.end(),
                                    [&](const Value& value) { return value.name == name; });
    REQUIRE(found != program.values.end());
    return static_cast<ValueId>(found - program.values.begin());
}

Program adapted(const std::string& text, std::int64_t rank, const std::vector<std::vector<std::string>>& groups,
                std::optional<Dtype> frozen = {}) {
    const Program program = unadapted(text);
    AdapterPlan plan{rank, {}, frozen};
    for (const auto& group : groups) {
        plan.groups.emplace_back();
        for (const std::string& name : group) plan.groups.back().push_back(value_called(program, name));
    }
    auto made = with_adapters(program, plan);
    REQUIRE_MESSAGE(made, to_text(made.error()));
    return *made;
}

std::string adapter_refusal(const std::string& text, std::int64_t rank, const std::vector<std::string>& names) {
    const Program program = unadapted(text);
    AdapterPlan plan{rank, {{}}, {}};
    for (const std::string& name : names) plan.groups.front().push_back(value_called(program, name));
    const auto made = with_adapters(program, plan);
    REQUIRE_FALSE(made);
    return made.error().message;
}

std::string gradients_text(const Program& program) {
    TrainingOptions options;
    options.optimizer = Optimizer::none;
    options.input_gradients = false;
    const auto step = training_step(program, options);
    REQUIRE_MESSAGE(step, to_text(step.error()));
    return print(step->program);
}

std::size_t occurrences(const std::string& text, std::string_view word) {
    std::size_t times = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++times;
    return times;
}

const char* const two_matmuls =
    "B=8, D=64, F=32, E=16\nX : bf16[B, D]\nparam W : bf16[D, F]\nY : bf16[B, F] = gelu(X *_D W)\n"
    "param V : bf16[F, E]\nOut : bf16[B, E] = Y *_F V\n";

}  // namespace

TEST_CASE("a frozen parameter is written as one and is a parameter") {
    const std::string text = "B=2, D=3, F=4\nX : bf16[B, D]\nfrozen W : bf16[D, F]\nY : bf16[B, F] = X *_D W\n";
    const Program program = unadapted(text);
    CHECK(program.values[1].param);
    CHECK(program.values[1].frozen);
    CHECK(print(program) == text);
    CHECK_FALSE(parse_program("frozen W : bf16[D, F] = X *_D V\n"));
    CHECK(unadapted("frozen : bf16[B]\nY : bf16[B] = frozen + 1\n").values[0].name == "frozen");
}

TEST_CASE("adapters are two matmuls beside the one of their matrix, and everything else is frozen") {
    const std::string text =
        "B=8, D=64, F=32, E=16, r=4\nX : bf16[B, D]\nfrozen W : bf16[D, F]\npart adapter { param W_A : bf16[D, r] }\n"
        "part adapter { param W_B : bf16[r, F] }\npart adapter { W_low : bf16[B, r] = X *_D W_A }\n"
        "part adapter { W_up : bf16[B, F] = W_low *_r W_B }\nW_out : bf16[B, F] = X *_D W + W_up\n"
        "Y : bf16[B, F] = gelu(W_out)\nfrozen V : bf16[F, E]\npart adapter { param V_A : bf16[F, r] }\n"
        "part adapter { param V_B : bf16[r, E] }\npart adapter { V_low : bf16[B, r] = Y *_F V_A }\n"
        "part adapter { V_up : bf16[B, E] = V_low *_r V_B }\nOut : bf16[B, E] = Y *_F V + V_up\n";
    CHECK(print(adapted(two_matmuls, 4, {{"W"}, {"V"}})) == text);
    CHECK(print(unadapted(text)) == text);
}

TEST_CASE("matrices that read the same tensor may share the first factor; experts have one each") {
    const char* const both =
        "B=8, D=64, F=32, r=2\nX : bf16[B, D]\nparam W : bf16[D, F]\nparam V : bf16[D, F]\n"
        "Y : bf16[B, F] = X *_D W\nZ : bf16[B, F] = X *_D V\nrows : bf16[r]\n";
    const std::string shared = print(adapted(both, 4, {{"W", "V"}}));
    CHECK(occurrences(shared, "_A :") == 1);
    CHECK(occurrences(shared, "_B :") == 2);
    CHECK(occurrences(shared, "X *_D W_A") == 1);
    CHECK(shared.find("V_up : bf16[B, F] = W_low *_r2 V_B") != std::string::npos);  // r is taken
    const std::string experts =
        print(adapted("E=4, C=8, D=64, F=32\nX : bf16[E, C, D]\nparam W : bf16[E, D, F]\n"
                      "Y : bf16[E, C, F] = X *_D W\n",
                      4, {{"W"}}));
    CHECK(experts.find("W_A : bf16[E, D, r]") != std::string::npos);
    CHECK(experts.find("W_B : bf16[E, r, F]") != std::string::npos);
    CHECK(experts.find("W_low : bf16[E, C, r]") != std::string::npos);
}

TEST_CASE("a frozen parameter has no gradient, and nothing below the first trained one is differentiated") {
    // With two trained matrices the backward pass has three matmuls: both gradients, and that of Y.
    const std::string all = gradients_text(unadapted(two_matmuls));
    CHECK(occurrences(all, "*_") == 2 + 3);
    // V alone: its gradient.
    std::string text = two_matmuls;
    text.replace(text.find("param W"), 7, "frozen W");
    const std::string last = gradients_text(unadapted(text));
    CHECK(occurrences(last, "*_") == 2 + 1);
    CHECK(last.find("dV : ") != std::string::npos);
    CHECK(last.find("dY") == std::string::npos);
    // W alone: its gradient and that of Y, which goes through the frozen V.
    text = two_matmuls;
    text.replace(text.find("param V"), 7, "frozen V");
    const std::string first = gradients_text(unadapted(text));
    CHECK(occurrences(first, "*_") == 2 + 2);
    CHECK(first.find("dV") == std::string::npos);
    text.replace(text.find("param W"), 7, "frozen W");
    TrainingOptions options;
    options.input_gradients = false;
    CHECK_FALSE(training_step(unadapted(text), options));
    // Sums over micro-batches exist of trained parameters only.
    text = two_matmuls;
    text.replace(text.find("param V"), 7, "frozen V");
    options.microbatches = 2;
    const auto step = training_step(unadapted(text), options);
    REQUIRE(step);
    CHECK(occurrences(print(step->program), "dV") == 0);
    const auto with_role = [&](StepRole role) {
        return std::count_if(step->tensors.begin(), step->tensors.end(),
                             [&](const StepTensor& tensor) { return tensor.role == role; });
    };
    CHECK(with_role(StepRole::param) == 2);
    CHECK(with_role(StepRole::gradient) == 1);
    CHECK(with_role(StepRole::optimizer_state) == 3);  // two moments and the master copy of W
}

TEST_CASE("frozen matrices are stored in another dtype, and low-precision training leaves adapters in 16 bits") {
    const Program program = adapted(two_matmuls, 4, {{"W"}, {"V"}}, Dtype::int4);
    CHECK(program.values[value_called(program, "W")].type.dtype == Dtype::int4);
    CHECK(program.values[value_called(program, "W_A")].type.dtype == Dtype::bf16);
    TrainingOptions options;
    options.input_gradients = false;
    auto step = training_step(program, options);
    REQUIRE_MESSAGE(step, to_text(step.error()));
    compute_weights_in(*step, Dtype::fp8);
    // X W, Y V and the gradient of Y; adapters add no more than their term of that gradient
    CHECK(occurrences(print(step->program), "using fp8") == 3);
}

TEST_CASE("adapters that make no sense are refused") {
    CHECK(adapter_refusal(two_matmuls, 17, {"V"}) == "a rank of 17 for V, which is a matrix of 32 x 16");
    CHECK(adapter_refusal(two_matmuls, 0, {"V"}) == "a rank of 0 for V, which is a matrix of 32 x 16");
    CHECK(adapter_refusal(two_matmuls, 4, {"W", "V"}).find("do not multiply the same tensor") != std::string::npos);
    CHECK(adapter_refusal("B=2\nX : bf16[B]\nparam G : bf16[B]\nY : bf16[B] = X * G\n", 1, {"G"}) ==
          "G is in no matmul");
    CHECK(adapter_refusal("B=2, D=4, F=4\nX : bf16[B, D]\nparam W : bf16[D, F]\nparam V : bf16[F, D]\n"
                          "Y : bf16[B, D] = gelu(X *_D W) *_F V\n",
                          1, {"V"})
              .find("no name") != std::string::npos);
}
