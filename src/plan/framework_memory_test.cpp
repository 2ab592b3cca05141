#include "plan/framework_memory.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

/// A program as a training step whose values have their written shardings.
struct WrittenStep {
    TrainingProgram step;
    System system;
    std::vector<TensorType> types;
    StayingAxes stay;

    explicit WrittenStep(std::string_view text) {
        auto parsed = parse_program(text, "");
        REQUIRE_MESSAGE(parsed.has_value(), to_text(parsed.error()));
        step.program = *parsed;
        for (const Value& value : parsed->values) types.push_back(value.type);
        auto machine = find_machine("h100-sxm");
        REQUIRE(machine);
        system.slice = *make_slice(*machine, "4");
        system.mesh = *place_mesh(system.slice, parsed->mesh);
    }

    ValueId find(std::string_view name) const {
        for (ValueId id = 0; id < step.program.values.size(); ++id) {
            if (step.program.values[id].name == name) return id;
        }
        FAIL("no such value");
        return 0;
    }

    void add(std::string_view name, StepRole role, std::vector<std::string> repeats = {}, std::string_view of = "") {
        StepTensor tensor{find(name), role, std::move(repeats)};
        if (!of.empty()) tensor.param = find(of);
        step.tensors.push_back(std::move(tensor));
    }

    FrameworkMemory memory() const {
        const auto memory = unit_memory(step, types, stay, system);
        REQUIRE(memory);
        return *memory;
    }
};

}  // namespace

// E has 6 x 10 elements of 2 bytes, W in each of three layers 10 x 10.
TEST_CASE("FSDP's root and its last layer stay gathered; all-gathers have memory for the root or for two layers") {
    const std::string params =
        "D=10, F=10, V=6, L=3\nparam E : bf16[V, D_{fsdp}]\nX : bf16[D]\n"
        "repeat L {\nparam W : bf16[D_{fsdp}, F]\nY : bf16[F] = X *_D W\n}\n";
    WrittenStep step("mesh fsdp=4\n" + params);
    step.add("E", StepRole::param);
    step.add("W", StepRole::param, {"L"});
    CHECK(step.memory().held == approx(120 + 200));
    CHECK(step.memory().extra_reserved == approx(400));
    step.step.program.sizes["V"] = 60;
    CHECK(step.memory().held == approx(1200 + 200));
    CHECK(step.memory().extra_reserved == approx(1200));
    // Parameters that no axis shards are not gathered.
    WrittenStep whole("mesh data=4\nD=10, F=10\nparam E : bf16[D, F]\n");
    whole.add("E", StepRole::param);
    CHECK(whole.memory().held == 0);
    CHECK(whole.memory().extra_reserved == 0);
}

TEST_CASE("shards that stay split are gathered in parts, and sharded states keep their gradients besides replicas") {
    WrittenStep step("mesh fsdp=2, tensor=2\nD=10, F=10\nparam E : bf16[D_{fsdp}, F_{tensor}]\n");
    step.add("E", StepRole::param);
    step.stay[step.find("E")] = {"tensor"};
    CHECK(step.memory().held == approx(100));
    CHECK(step.memory().extra_reserved == approx(100));
    // With a pipeline: 400 bytes of gradients in f32, of which one chip of four updates a quarter, and 200 bytes of
    // gathered parameters.
    WrittenStep replicas("mesh data=4\nD=10, F=10\nparam E : bf16[D, F]\nG : f32[D, F]\nM : f32[D_{data}, F]\n");
    replicas.add("E", StepRole::param);
    replicas.add("G", StepRole::gradient, {}, "E");
    replicas.add("M", StepRole::optimizer_state, {}, "E");
    CHECK(replicas.memory().held == 0);
    CHECK(replicas.memory().extra_reserved == approx(400 / 4.0 + 200));
}

// X has 8 x 10 elements of 2 bytes; logits have 8 x 50 of 4 bytes, or of 2 if the loss converts them.
TEST_CASE("a pipeline keeps the outputs of all micro-batches and has buffers for what it receives") {
    const auto bytes = [](const std::string& behind, bool first) {
        const auto parsed =
            parse_program("B=8, D=10, V=50, L=3\nX : bf16[B, D]\nrepeat L {\nX = relu(X)\n}\n" + behind, "");
        REQUIRE_MESSAGE(parsed.has_value(), to_text(parsed.error()));
        const auto held = pipeline_buffer_bytes(*parsed, first, 8, 5);
        REQUIRE(held);
        return *held;
    };
    CHECK(bytes("", true) == 8 * 160 + 8 * 160);
    CHECK(bytes("", false) == 3 * 160 + 8 * 160 + 8 * 160);
    // The last stage receives no gradients.
    const std::string loss = "param H : bf16[D, V]\nY : f32[B, V] = X *_D H\n";
    CHECK(bytes(loss + "part loss { Lse : f32[B] = logsumexp[V](Y) }\n", false) == 3 * 160 + 8 * 1600);
    const std::string converted = "param H : bf16[D, V]\nZ : bf16[B, V] = X *_D H\npart loss { Y : f32[B, V] = Z }\n";
    CHECK(bytes(converted + "part loss { Lse : f32[B] = logsumexp[V](Y) }\n", false) == 3 * 160 + 8 * 800);
}

TEST_CASE("a conversion to a wider dtype leaves a block if nothing else reads its operand") {
    const auto left = [](const std::string& text) {
        const auto parsed = parse_program("B=8, D=10\nX : bf16[B, D]\nH : bf16[B, D] = relu(X)\n" + text, "");
        REQUIRE_MESSAGE(parsed.has_value(), to_text(parsed.error()));
        const auto bytes = block_left_by_cast(*parsed);
        REQUIRE(bytes);
        return *bytes;
    };
    CHECK(left("W : f32[B, D] = H\nY : f32[B, D] = exp(W)") == 160);
    CHECK(left("W : f32[B, D] = H\nY : f32[B, D] = exp(W) + H") == 0);
    CHECK(left("W : fp8[B, D] = H\nY : f32[B, D] = exp(W)") == 0);
    CHECK(left("Y : f32[B, D] = exp(H)") == 0);
}
