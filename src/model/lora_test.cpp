#include "model/lora.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "model/account.hpp"
#include "model/models_test.hpp"
#include "notation/notation.hpp"
#include "program/adjoint.hpp"
#include "work/contraction.hpp"

using namespace roofline::core;

namespace {

// Llama 2 70B: 80 layers of width 8192, 64 heads of 128, 8 of them with keys and values, an MLP of 28672, 32000 words.
constexpr std::int64_t llama_layers = 80;
constexpr std::int64_t llama_width = 8192;
constexpr std::int64_t llama_kv = 1024;
constexpr std::int64_t llama_words = 32000;
constexpr std::int64_t lora_tokens = 2048;
constexpr std::int64_t llama_in_layers =
    llama_layers * (2 * llama_width * llama_width + 2 * llama_width * llama_kv + 3 * llama_width * 28672);
constexpr std::int64_t llama_norms = (2 * llama_layers + 1) * llama_width;

Model llama_with(const LoraOptions& options) {
    auto model = with_lora(model_named("llama-2-70b", lora_tokens), options);
    REQUIRE_MESSAGE(model, model.error().message);
    return std::move(*model);
}

ModelCounts lora_counts(const Model& model) {
    auto counts = count_model(model);
    REQUIRE(counts);
    return std::move(*counts);
}

TrainingProgram lora_step(const Model& model, bool master = true) {
    const auto with = with_loss(model.program);
    REQUIRE(with);
    TrainingOptions options;
    options.input_gradients = false;
    options.master = master;
    auto step = training_step(*with, options);
    REQUIRE_MESSAGE(step, step.error().message);
    return std::move(*step);
}

Rational lora_bytes(const TrainingProgram& step, StepRole role) {
    return bytes_of(step, role).evaluate(step.program.sizes).value();
}

Rational all_matmul_flops(const Program& program, const Block& block, const Rational& count) {
    Rational sum;
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            const bool repeat = inner->kind == Block::Kind::repeat;
            sum += all_matmul_flops(program, *inner, repeat ? count * Rational(program.sizes.at(inner->count)) : count);
            continue;
        }
        for (const Op& op : std::get<Statement>(node).ops) {
            if (op.kind != OpKind::contract) continue;
            for (const MatmulShape& shape : plan_contraction(program, op, false).matmuls) {
                sum += shape.flops.evaluate(program.sizes).value() * count;
            }
        }
    }
    return sum;
}

std::string lora_refusal(const LoraOptions& options) {
    const auto model = with_lora(model_named("llama-2-70b", lora_tokens), options);
    REQUIRE_FALSE(model);
    return model.error().message + "; " + model.error().hint;
}

}  // namespace

TEST_CASE("LoRA of rank 16 on the attention of Llama 2 70B trains the parameters that its shapes have") {
    // MLPerf's benchmark has one matrix for queries, keys and values, and one behind attention.
    constexpr std::int64_t mlperf =
        llama_layers * 16 * ((llama_width + llama_width + 2 * llama_kv) + (llama_width + llama_width));
    static_assert(mlperf == 44'564'480);
    const Model model = llama_with({16, {"q+k+v", "o"}, {}});
    const ModelCounts counts = lora_counts(model);
    CHECK(counts.total.trained == Rational(mlperf));
    CHECK(counts.total.params == Rational(llama_in_layers + llama_norms + 2 * llama_words * llama_width + mlperf));
    REQUIRE(model.lora);
    CHECK(model.lora->on == std::vector<std::string>{"q_proj+k_proj+v_proj", "o_proj"});
    // four matrices apart, which is the default
    constexpr std::int64_t apart = llama_layers * 16 * (4 * llama_width + 2 * (llama_width + llama_kv));
    static_assert(apart == 65'536'000);
    CHECK(lora_counts(llama_with({16, {}, {}})).total.trained == Rational(apart));
    CHECK(lora_counts(llama_with({16, {"q_proj", "k"}, {}})).total.trained ==
          Rational(llama_layers * 16 * (2 * llama_width + llama_width + llama_kv)));
    constexpr std::int64_t mlp = llama_layers * 16 * 3 * (llama_width + 28672);
    CHECK(lora_counts(llama_with({16, {"all-linear"}, {}})).total.trained == Rational(apart + mlp));
    CHECK(lora_counts(model_named("llama-2-70b", lora_tokens)).total.trained ==
          Rational(llama_in_layers + llama_norms + 2 * llama_words * llama_width));
}

TEST_CASE("a step with LoRA takes 4 FLOPs per frozen parameter and token, and 6 per adapter's") {
    const Model model = llama_with({16, {"q+k+v", "o"}, {}});
    constexpr std::int64_t adapters = 44'564'480;
    constexpr std::int64_t multiplying = llama_in_layers + llama_words * llama_width;
    // two matmuls over half of the mask forward, four backward and one that fused kernels repeat
    const Rational attention = Rational(2 * llama_layers * lora_tokens) * Rational(lora_tokens) * Rational(llama_width);
    const TrainingProgram step = lora_step(model);
    const Rational per_token = Rational(4) * Rational(multiplying) + Rational(6 * adapters);
    CHECK(all_matmul_flops(step.program, step.program.body, Rational(1)) ==
          per_token * Rational(lora_tokens) + attention * Rational(7, 2));
    // model FLOPs, without the repetition
    CHECK(lora_counts(model).total.training == per_token + attention * Rational(3, lora_tokens));
    CHECK(lora_counts(model_named("llama-2-70b", lora_tokens)).total.training ==
          Rational(6) * Rational(multiplying) + attention * Rational(3, lora_tokens));
}

TEST_CASE("only adapters have gradients, states and master copies, and frozen matrices may be narrow") {
    constexpr std::int64_t adapters = 44'564'480;
    const TrainingProgram step = lora_step(llama_with({16, {"q+k+v", "o"}, {}}));
    constexpr std::int64_t base = llama_in_layers + llama_norms + 2 * llama_words * llama_width;
    CHECK(lora_bytes(step, StepRole::param) == Rational(2) * Rational(base + adapters));
    CHECK(lora_bytes(step, StepRole::gradient) == Rational(2 * adapters));
    CHECK(lora_bytes(step, StepRole::optimizer_state) == Rational(12 * adapters));
    // in fp8 the matrices of layers take a byte each; norms, embedding and head stay as they are
    const TrainingProgram narrow = lora_step(llama_with({16, {"q+k+v", "o"}, Dtype::fp8}));
    CHECK(lora_bytes(narrow, StepRole::param) ==
          Rational(llama_in_layers) + Rational(2) * Rational(llama_norms + 2 * llama_words * llama_width + adapters));
    CHECK(lora_bytes(narrow, StepRole::gradient) == Rational(2 * adapters));
}

TEST_CASE("layers below the first adapter are computed once") {
    // DeepSeek-V2-Lite: the first of 27 layers has an MLP of 10944, the others experts. With adapters on experts alone
    // the first layer's matmuls, attention's too, need no gradient.
    const std::int64_t sequence = 256;
    auto model = with_lora(model_named("deepseek-v2-lite", sequence), {8, {"Eg"}, {}});
    REQUIRE_MESSAGE(model, model.error().message);
    REQUIRE(model->groups.size() == 2);
    const ModelCounts counts = lora_counts(*model);
    PartCount first;
    PartCount other;
    for (const auto& [part, count] : counts.groups[0].parts) first += count;
    for (const auto& [part, count] : counts.groups[1].parts) other += count;
    CHECK(first.training == first.products + first.attention);
    CHECK(other.training.to_double() > 1.9 * (other.products + other.attention).to_double());
    const TrainingProgram step = lora_step(*model);
    std::size_t repeats = 0;  // two forward, then one backward and one for the optimizer
    const std::string text = print(step.program);
    for (std::size_t at = text.find("repeat"); at != std::string::npos; at = text.find("repeat", at + 1)) ++repeats;
    CHECK(repeats == 4);
}

TEST_CASE("projections that are one module of a checkpoint share a factor") {
    auto config = preset_config("llama-2-7b");
    REQUIRE(config);
    config->model_type = "phi3";
    auto model = build_model(*config, lora_tokens);
    REQUIRE_MESSAGE(model, model.error().message);
    auto made = with_lora(std::move(*model), {16, {"qkv_proj"}, {}});
    REQUIRE_MESSAGE(made, made.error().message);
    CHECK(made->lora->on == std::vector<std::string>{"qkv_proj"});
    CHECK(lora_counts(*made).total.trained == Rational(32 * 16LL * (4096 + 3 * 4096)));
}

TEST_CASE("every model with named operands has a training step with LoRA that parses back") {
    for (const std::string& name : preset_names()) {
        CAPTURE(name);
        const std::string on = name == "falcon-mamba-7b" ? "all-linear" : "attention";
        auto model = with_lora(model_named(name, 256), {1, {on}, {}});
        if (!model) {
            CHECK(model.error().message.find("no name") != std::string::npos);
            CHECK(name.starts_with("deepseek-v4"));
            continue;
        }
        const TrainingProgram step = lora_step(*model);
        const std::string text = print(step.program);
        auto again = parse_program(text);
        REQUIRE_MESSAGE(again, (again ? std::string() : again.error().message));
        CHECK(again->values == step.program.values);
        CHECK(lora_bytes(step, StepRole::gradient) == Rational(2) * lora_counts(*model).total.trained);
    }
}

TEST_CASE("LoRA that makes no sense is refused with what would") {
    CHECK(lora_refusal({16, {"query"}, {}}) ==
          "the model has no projection `query`; its projections are q_proj, k_proj, v_proj, o_proj, gate_proj, "
          "up_proj, down_proj; or use attention, all-linear");
    CHECK(lora_refusal({16, {"q", "attention"}, {}}).starts_with("the projection q_proj is named twice"));
    CHECK(lora_refusal({1025, {"k"}, {}}) == "a rank of 1025 for Wk, which is a matrix of 8192 x 1024; use 1 to 1024");
    CHECK(lora_refusal({16, {"q+o"}, {}}).find("do not multiply the same tensor") != std::string::npos);
    CHECK(lora_refusal({16, {}, Dtype::f32}).starts_with("frozen weights in f32 are not narrower"));
    CHECK(lora_refusal({16, {}, Dtype::boolean}).starts_with("frozen weights in bool are not narrower"));
    const auto none = with_lora(model_named("falcon-mamba-7b", lora_tokens), {16, {}, {}});
    REQUIRE_FALSE(none);
    CHECK(none.error().hint.starts_with("its projections are Wx, Wz"));
    CHECK_FALSE(lora_projections("q,,v"));
    CHECK_FALSE(lora_projections("q+,v"));
    CHECK(*lora_projections("q+k,v") == std::vector<std::string>{"q+k", "v"});
}
